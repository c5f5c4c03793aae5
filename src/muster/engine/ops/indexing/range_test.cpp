#include "muster/engine/ops/indexing/range.h"

#include <gtest/gtest.h>

#include "muster/engine/errors.h"

namespace muster::engine {
namespace {

std::vector<Index> items(const Range& range) {
  std::vector<Index> out;
  for (Index i = 0; i < range.count; ++i) out.push_back(range.start + i * range.step);
  return out;
}

TEST(Range, IsWhatASliceMeans) {
  EXPECT_EQ(items(slice_range(kOpen, kOpen, kOpen, 3)), (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(items(slice_range(kOpen, kOpen, -2, 5)), (std::vector<Index>{4, 2, 0}));
  EXPECT_EQ(items(slice_range(-2, 100, 1, 5)), (std::vector<Index>{3, 4}));
  EXPECT_EQ(items(slice_range(100, -100, -3, 5)), (std::vector<Index>{4, 1}));
  EXPECT_TRUE(items(slice_range(3, 1, 1, 5)).empty());
}

TEST(Range, RefusesAnItemThatIsNotThere) {
  EXPECT_EQ(item_range(-1, 4, 0, "getitem").start, 3);
  try {
    (void)item_range(4, 4, 2, "getitem");
    FAIL();
  } catch (const ArrayError& error) {
    EXPECT_STREQ(error.what(), "[getitem] index 4 is out of bounds for axis 2 with size 4");
  }
}

TEST(Range, IsCutWhereTheChunksAre) {
  const auto pieces = pieces_of({1, 2, 4}, {3, 0, 2, 4});  // items 1 3 5 7
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].chunk, 0);
  EXPECT_EQ(pieces[1].chunk, 2);
  EXPECT_EQ(pieces[1].start, 0);
  EXPECT_EQ(pieces[2].chunk, 3);
  EXPECT_EQ(pieces[2].count, 2);
  const auto back = pieces_of({8, -3, 3}, {3, 0, 2, 4});  // items 8 5 2
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].chunk, 3);
  EXPECT_EQ(back[0].count, 2);
  EXPECT_EQ(back[1].chunk, 0);
  EXPECT_EQ(back[1].start, 2);
}

}  // namespace
}  // namespace muster::engine
