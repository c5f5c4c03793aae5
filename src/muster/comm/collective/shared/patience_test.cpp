#include "muster/comm/collective/shared/patience.h"

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

constexpr int kMostPauses = 10'000;

int pauses_until_sleep(Patience& patience) {
  int pauses = 0;
  while (pauses < kMostPauses && patience.pause()) ++pauses;
  return pauses;
}

TEST(Patience, EndsInSleepAndStaysThere) {
  Patience patience(false);
  const int pauses = pauses_until_sleep(patience);
  EXPECT_GT(pauses, 0);
  EXPECT_LT(pauses, kMostPauses);
  EXPECT_EQ(pauses_until_sleep(patience), 0);
}

TEST(Patience, IsAsLongAsAtFirstOnceItIsRenewed) {
  for (const bool crowded : {false, true}) {
    Patience patience(crowded);
    const int first = pauses_until_sleep(patience);
    patience.renew();
    EXPECT_EQ(pauses_until_sleep(patience), first);
  }
}

TEST(Patience, SleepsSoonerWhenThereAreMoreRanksThanCores) {
  Patience alone(false);
  Patience crowded(true);
  EXPECT_LT(pauses_until_sleep(crowded), pauses_until_sleep(alone));
}

TEST(Patience, DoesNotSpinForOneThatNeedsTheSameCore) {
  Patience others(true);
  Patience neighbour(true);
  const int pauses = pauses_until_sleep(others);
  int yields = 0;
  while (yields < kMostPauses && neighbour.pause(true)) ++yields;
  EXPECT_GT(yields, 0);
  EXPECT_LT(yields, pauses);
}

TEST(Patience, LooksAroundNowAndThenThoughItIsRenewedAllTheTime) {
  Patience patience(false);
  int looks = 0;
  for (int i = 0; i < kMostPauses; ++i) {
    patience.renew();
    ASSERT_TRUE(patience.pause());
    if (patience.looks_around()) ++looks;
  }
  EXPECT_GT(looks, 0);
  EXPECT_LT(looks, kMostPauses / 100);
}

}  // namespace
}  // namespace muster::comm::collective::shared
