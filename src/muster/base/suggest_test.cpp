#include "muster/base/suggest.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Nearest, FindsAMistypedWord) { EXPECT_EQ(nearest("wrker", {"learner", "worker"}), "worker"); }

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("zebra", {"learner", "worker"}), "");
}

TEST(Nearest, TakesTwoSwappedLettersAsOneMistake) { EXPECT_EQ(nearest("nmae", {"name"}), "name"); }

TEST(DidYouMean, EndsAComplaint) {
  EXPECT_EQ(did_you_mean("wrker", {"worker"}), "; did you mean 'worker'?");
  EXPECT_EQ(did_you_mean("zebra", {"worker"}), "");
}

}  // namespace
}  // namespace muster
