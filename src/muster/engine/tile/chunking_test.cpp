#include "muster/engine/tile/chunking.h"

#include <numeric>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "muster/engine/errors.h"

namespace muster::engine {
namespace {

using testing::ElementsAre;

TEST(DecideSplits, MakesChunksOfAboutTheLimit) {
  const Splits splits = decide_splits({1000, 1000}, 8, nullptr, 80'000, "test");
  EXPECT_EQ(splits[0].front(), 100);
  EXPECT_EQ(splits[1].front(), 100);
}

TEST(DecideSplits, LeavesMoreForLongAxesWhereOthersAreShort) {
  const Splits splits = decide_splits({2, 1'000'000}, 8, nullptr, 80'000, "test");
  EXPECT_EQ(splits[0], std::vector<Index>{2});
  EXPECT_EQ(splits[1].front(), 5000);
}

TEST(DecideSplits, FollowsTheUser) {
  const Attribute::Value one = std::int64_t{4};
  EXPECT_THAT(decide_splits({10}, 8, &one, 1, "test")[0], ElementsAre(4, 4, 2));
  const Attribute::Value lists = List{{Ints{3, 7}}, {std::int64_t{5}}};
  EXPECT_THAT(decide_splits({10, 8}, 8, &lists, 1, "test"),
              ElementsAre(ElementsAre(3, 7), ElementsAre(5, 3)));
}

TEST(DecideSplits, SaysWhatDoesNotFit) {
  const Attribute::Value lists = List{{Ints{3, 6}}};
  try {
    (void)decide_splits({10}, 8, &lists, 1, "ones");
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_STREQ(
        error.what(),
        "[ones] chunk_size for axis 0 is (3, 6), which does not sum up to 10; the shape is (10,)");
  }
}

TEST(DecideSplits, AnEmptyAxisIsOneEmptyChunk) {
  EXPECT_THAT(decide_splits({0}, 8, nullptr, 100, "test")[0], ElementsAre(0));
}

RC_GTEST_PROP(CommonSplit, RefinesBothAndKeepsTheSum, ()) {
  const auto cut = [](const std::vector<int>& ends, Index whole) {
    std::vector<Index> extents;
    Index start = 0;
    for (const int end : ends)
      if (end > start && end < whole) {
        extents.push_back(end - start);
        start = end;
      }
    extents.push_back(whole - start);
    return extents;
  };
  auto left = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 50));
  auto right = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 50));
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  const auto a = cut(left, 50);
  const auto b = cut(right, 50);
  const auto both = common_split(a, b);
  RC_ASSERT(std::accumulate(both.begin(), both.end(), Index{0}) == 50);
  for (const auto* part : {&a, &b}) {
    std::size_t at = 0;
    for (const Index extent : *part) {
      Index sum = 0;
      while (sum < extent) sum += both[at++];
      RC_ASSERT(sum == extent);
    }
  }
}

}  // namespace
}  // namespace muster::engine
