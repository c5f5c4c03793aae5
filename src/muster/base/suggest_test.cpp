#include "muster/base/suggest.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Nearest, FindsAMistypedWord) { EXPECT_EQ(nearest("wrker", {"learner", "worker"}), "worker"); }

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("zebra", {"learner", "worker"}), "");
}

}  // namespace
}  // namespace muster
