#include "muster/engine/ops/shape/flat_cuts.h"

#include <gtest/gtest.h>

namespace muster::engine {
namespace {

using Runs = std::vector<Index>;

TEST(FlatCuts, GroupsAxesThatHoldTheSameItems) {
  const auto groups = group_axes({6, 4, 5}, {2, 3, 20});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].from, (std::vector<std::size_t>{0}));
  EXPECT_EQ(groups[0].to, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(groups[1].from, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(groups[1].to, (std::vector<std::size_t>{2}));
}

TEST(FlatCuts, AreFlatWhenOnlyTheFirstLongAxisIsCut) {
  EXPECT_EQ(flatten_cuts({{2, 1}, {4}}), (Runs{8, 4}));
  EXPECT_EQ(flatten_cuts({{1, 1}, {3, 1}}), (Runs{3, 1, 3, 1}));
  EXPECT_EQ(flatten_cuts({{2, 1}, {2, 2}}), std::nullopt);
}

TEST(FlatCuts, AreFoundAgainForAnotherShape) {
  EXPECT_EQ(unflatten_cuts({8, 4}, {3, 4}), (Splits{{2, 1}, {4}}));
  EXPECT_EQ(unflatten_cuts({3, 1, 3, 1}, {2, 4}), (Splits{{1, 1}, {3, 1}}));
  EXPECT_EQ(unflatten_cuts({5, 7}, {3, 4}), std::nullopt);
}

TEST(FlatCuts, AreChosenWithinABudget) {
  EXPECT_EQ(choose_flat_cuts({3, 4}, 8), (Splits{{2, 1}, {4}}));
  EXPECT_EQ(choose_flat_cuts({2, 4}, 3), (Splits{{1, 1}, {3, 1}}));
}

}  // namespace
}  // namespace muster::engine
