#include "muster/comm/collective/shared/contest.h"

#include <utility>

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kLap = 3;
const std::uint32_t kTrial = Contest(Way::lend, kLap).trial();

/// How often each way was wanted in so many calls, each of which takes as long as `took` says.
template <class Took>
std::array<std::uint32_t, 2> play(Contest& contest, std::uint32_t calls, Took took) {
  std::array<std::uint32_t, 2> wanted{};
  for (std::uint32_t i = 0; i < calls; ++i) {
    const Way way = contest.wanted();
    ++wanted[static_cast<std::size_t>(way)];
    contest.note(way, took(way));
  }
  return wanted;
}

Duration lending_is_quicker(Way way) { return microseconds(way == Way::lend ? 10 : 40); }
Duration staging_is_quicker(Way way) { return microseconds(way == Way::lend ? 40 : 10); }

/// After its first result, when it begins to try again.
template <class Took>
Contest after_the_first(Took took) {
  Contest contest(Way::lend, kLap);
  play(contest, (2 + Contest::kFirstPeriod) * kTrial, took);
  EXPECT_TRUE(contest.tries());
  return contest;
}

TEST(Contest, TriesTheUsualWayFirstAndThenTheOther) {
  for (const Way usual : {Way::lend, Way::stage}) {
    Contest contest(usual, kLap);
    for (std::uint32_t i = 0; i < 2 * kTrial; ++i) {
      EXPECT_TRUE(contest.tries());
      EXPECT_EQ(contest.wanted(), i < kTrial ? usual : other(usual));
      contest.note(contest.wanted(), microseconds(1));
    }
    EXPECT_FALSE(contest.tries());
  }
}

TEST(Contest, TriesAgainSoonAfterItsFirstResult) {
  Contest contest(Way::lend, kLap);
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_EQ(play(contest, Contest::kFirstPeriod * kTrial, staging_is_quicker)[0], 0U);
  EXPECT_TRUE(contest.tries());
}

TEST(Contest, WantsTheQuickerWayUntilItTriesAgain) {
  Contest contest = after_the_first(lending_is_quicker);
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_EQ(play(contest, Contest::kPeriod * kTrial, staging_is_quicker)[0], 0U);
  EXPECT_TRUE(contest.tries());
}

TEST(Contest, FollowsWhenTheOtherWayBecomesQuicker) {
  Contest contest = after_the_first(lending_is_quicker);
  const auto staging_becomes_quicker = [](Way way) {
    return microseconds(way == Way::lend ? 10 : 5);
  };
  const std::uint32_t round = (Contest::kPeriod + 2) * kTrial;
  EXPECT_EQ(play(contest, round, lending_is_quicker)[1], kTrial);
  EXPECT_EQ(play(contest, round, staging_becomes_quicker)[0], kTrial);
  EXPECT_EQ(play(contest, round, lending_is_quicker)[1], kTrial);
}

TEST(Contest, TriesAgainSoonWhenItsWayBecomesSlow) {
  Contest contest(Way::lend, kLap);
  play(contest, (2 + Contest::kLeast) * kTrial, lending_is_quicker);
  ASSERT_FALSE(contest.tries());
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_TRUE(contest.tries());
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_EQ(contest.wanted(), Way::stage);
}

TEST(Contest, DoesNotTryAgainBecauseOfSomeSlowCalls) {
  Contest contest = after_the_first(lending_is_quicker);
  play(contest, 2 * kTrial, lending_is_quicker);
  std::uint32_t calls = 0;
  const auto wanted = play(contest, (Contest::kPeriod - 1) * kTrial, [&](Way way) -> Duration {
    return ++calls % (2 * kTrial) <= 6 * kLap ? microseconds(1000) : lending_is_quicker(way);
  });
  EXPECT_EQ(wanted[1], 0U);
}

// Others may be late for longer and longer.
TEST(Contest, TriesSeldomWhenCallsBecomeSlowForAnotherReason) {
  Contest contest(Way::lend, kLap);
  play(contest, 2 * kTrial, lending_is_quicker);
  Duration lateness = microseconds(100);
  bool tried = false;
  const auto late = [&](Way way) {
    if (std::exchange(tried, contest.tries()) && !contest.tries()) lateness *= 2;
    return lending_is_quicker(way) + lateness;
  };
  // It waits 2, 4, 8, 16, 32 and 64 times as long as a trial.
  const auto wanted = play(contest, (2 + 4 + 8 + 16 + 32 + 64 + 2 * 6) * kTrial, late);
  EXPECT_EQ(wanted[1], 6 * kTrial);
}

TEST(Contest, TriesAgainSoonAfterAChange) {
  Contest contest(Way::lend, kLap);
  play(contest, 2 * kTrial, lending_is_quicker);
  for (int i = 0; i < 5; ++i) {
    play(contest, (Contest::kLeast + 2) * kTrial, staging_is_quicker);
    ASSERT_EQ(contest.wanted(), Way::stage) << i;
    play(contest, (Contest::kLeast + 2) * kTrial, lending_is_quicker);
    ASSERT_EQ(contest.wanted(), Way::lend) << i;
  }
}

TEST(Contest, IsNotDecidedByOneInterruption) {
  for (std::uint32_t when = 0; when < kTrial; ++when) {
    Contest contest(Way::lend, kLap);
    std::uint32_t lent = 0;
    play(contest, 2 * kTrial, [&](Way way) -> Duration {
      return way == Way::lend && lent++ == when ? microseconds(5000) : lending_is_quicker(way);
    });
    EXPECT_EQ(contest.wanted(), Way::lend) << when;
  }
}

// Now and then all is at hand by chance.
TEST(Contest, IsNotDecidedByOneLuckyLapOfSmallBlocks) {
  constexpr std::uint32_t kManyCalls = 64;
  Contest contest(Way::lend, kManyCalls);
  std::uint32_t staged = 0;
  play(contest, 2 * contest.trial(), [&](Way way) -> Duration {
    if (way == Way::lend) return microseconds(20);
    return microseconds(++staged > kManyCalls && staged <= 3 * kManyCalls ? 10 : 25);
  });
  EXPECT_EQ(contest.wanted(), Way::lend);
}

TEST(Contest, ComparesCallsOfDifferentSizes) {
  const std::size_t kind = kind_of(Operation::broadcast, kLendFrom);
  const Duration small = for_smallest(kind, kLendFrom, microseconds(10));
  EXPECT_EQ(small, Duration(microseconds(10)));
  EXPECT_EQ(for_smallest(kind, 2 * kLendFrom, microseconds(20)), small);
}

TEST(Contest, DoesNotCountTheFirstLap) {
  Contest contest(Way::lend, kLap);
  std::uint32_t staged = 0;
  play(contest, 2 * kTrial, [&](Way way) -> Duration {
    if (way == Way::lend) return microseconds(20);
    return microseconds(++staged <= kLap ? 1000 : 10);
  });
  EXPECT_EQ(contest.wanted(), Way::stage);
}

// Who is ahead finds all there for some calls, and has to wait for the next.
TEST(Contest, GoesByTheMeanOfItsCalls) {
  Contest contest(Way::lend, kLap);
  std::uint32_t staged = 0;
  play(contest, 2 * kTrial, [&](Way way) -> Duration {
    if (way == Way::lend) return microseconds(20);
    return microseconds(++staged % kLap == 0 ? 100 : 1);
  });
  EXPECT_EQ(contest.wanted(), Way::lend);
}

// Ranks that give may be some calls ahead when they learn what is wanted.
TEST(Contest, CountsACallForTheWayInWhichItWasDone) {
  Contest contest(Way::lend, kLap);
  play(contest, kTrial, staging_is_quicker);
  ASSERT_EQ(contest.wanted(), Way::stage);
  for (int late = 0; late < 10; ++late) contest.note(Way::lend, microseconds(1));
  EXPECT_EQ(contest.wanted(), Way::stage);
  EXPECT_TRUE(contest.tries());
  play(contest, kTrial, staging_is_quicker);
  EXPECT_FALSE(contest.tries());
  EXPECT_EQ(contest.wanted(), Way::stage);
}

TEST(Contest, KeepsOperationsAndSizesApart) {
  std::vector<bool> seen(kLoanKinds);
  for (const Operation operation : kOperations) {
    for (std::size_t block = kLendFrom; block <= kLendFrom << (kLoanSizes - 1); block *= 2) {
      const std::size_t kind = kind_of(operation, block);
      ASSERT_LT(kind, kLoanKinds);
      EXPECT_FALSE(seen[kind]);
      seen[kind] = true;
      EXPECT_EQ(kind_of(operation, block + block / 2), kind);
    }
    EXPECT_EQ(kind_of(operation, std::size_t{1} << 40),
              kind_of(operation, kLendFrom << (kLoanSizes - 1)));
  }
}

}  // namespace
}  // namespace muster::comm::collective::shared
