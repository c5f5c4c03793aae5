#include "muster/engine/storage/lane_choice.h"

#include <gtest/gtest.h>

namespace muster::engine {
namespace {

using Loads = std::vector<std::size_t>;
using Tried = std::vector<bool>;

TEST(LaneChoice, TakesTheLeastLoaded) { EXPECT_EQ(choose_lane(Loads{5, 2, 9}, Tried(3), 0), 1u); }

TEST(LaneChoice, GoesRoundAmongEquals) {
  EXPECT_EQ(choose_lane(Loads{0, 0, 0}, Tried(3), 1), 1u);
  EXPECT_EQ(choose_lane(Loads{0, 0, 0}, Tried(3), 5), 2u);
}

TEST(LaneChoice, LeavesOutThoseThatRefused) {
  EXPECT_EQ(choose_lane(Loads{5, 2, 9}, Tried{false, true, false}, 0), 0u);
  EXPECT_FALSE(choose_lane(Loads{5, 2}, Tried{true, true}, 0));
  EXPECT_FALSE(choose_lane(Loads{}, Tried{}, 0));
}

}  // namespace
}  // namespace muster::engine
