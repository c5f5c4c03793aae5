#include "muster/comm/collective/shared/pace.h"

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

void note_often(Pace& pace, int vain) {
  for (int call = 0; call < 16; ++call) pace.note(vain);
}

TEST(Pace, PausesLongerWhereLooksAreInVainAgainAndAgain) {
  Pace pace;
  EXPECT_EQ(pace.pauses(), 1);
  note_often(pace, 7);
  EXPECT_EQ(pace.pauses(), 4);
  note_often(pace, 3);
  EXPECT_EQ(pace.pauses(), 4) << "which is what four pauses make of seven looks";
  note_often(pace, 1);
  EXPECT_EQ(pace.pauses(), 1);
  note_often(pace, 3);
  EXPECT_EQ(pace.pauses(), 1);
}

TEST(Pace, HardlyMindsOneLongWait) {
  Pace pace;
  for (int call = 0; call < 15; ++call) pace.note(2);
  pace.note(1'000'000);
  EXPECT_EQ(pace.pauses(), 1);
}

TEST(Pace, PausesBeforeTheFirstLookOfWhoHasJustCaughtUp) {
  Pace pace;
  EXPECT_EQ(pace.pauses_before(), 0);
  pace.note(0);
  EXPECT_EQ(pace.pauses_before(), 0);
  pace.note(3);
  EXPECT_EQ(pace.pauses_before(), 0) << "it is late, and finds what it looks for";
  pace.note(0);
  EXPECT_EQ(pace.pauses_before(), 1) << "it is ahead now";
  pace.note(0);
  EXPECT_EQ(pace.pauses_before(), 0);
}

}  // namespace
}  // namespace muster::comm::collective::shared
