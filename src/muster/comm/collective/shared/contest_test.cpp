#include "muster/comm/collective/shared/contest.h"

#include <deque>
#include <utility>

#include <gtest/gtest.h>

namespace muster::comm::collective::shared {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kLap = 3;
const std::uint32_t kTrial = Contest(Way::lend, kLap).trial();

/// How often each way was wanted.
using Counts = std::array<std::uint32_t, kWays.size()>;

std::uint32_t lent(const Counts& counts) { return counts[static_cast<std::size_t>(Way::lend)]; }
std::uint32_t not_lent(const Counts& counts) { return counts[1] + counts[2]; }

/// One call after the other while `goes_on`, each of which takes as long as `took` says.
template <class Took, class GoesOn>
Counts play_while(Contest& contest, Took took, GoesOn goes_on) {
  Counts wanted{};
  while (goes_on()) {
    const Way way = contest.wanted();
    ++wanted[static_cast<std::size_t>(way)];
    contest.note(way, took(way));
  }
  return wanted;
}
template <class Took>
Counts play(Contest& contest, std::uint32_t calls, Took took) {
  return play_while(contest, took, [&] { return calls-- > 0; });
}
/// Until there is a result.
template <class Took>
Counts play_trials(Contest& contest, Took took) {
  return play_while(contest, took, [&] { return contest.tries(); });
}
/// Until it begins to try again.
template <class Took>
Counts play_until_trials(Contest& contest, Took took) {
  return play_while(contest, took, [&] { return !contest.tries(); });
}

Duration lending_is_quicker(Way way) { return microseconds(way == Way::lend ? 10 : 15); }
Duration staging_is_quicker(Way way) {
  return microseconds(way == Way::lend ? 40 : way == Way::stage ? 10 : 15);
}

/// After its first result, when it begins to try again.
template <class Took>
Contest after_the_first(Took took) {
  Contest contest(Way::lend, kLap);
  play_trials(contest, took);
  play_until_trials(contest, took);
  return contest;
}

TEST(Contest, TriesTheUsualWayFirstAndThenTheOthers) {
  for (const Way usual : kWays) {
    Contest contest(usual, kLap);
    Counts wanted{};
    for (std::uint32_t i = 0; i < kWays.size() * kTrial; ++i) {
      EXPECT_TRUE(contest.tries());
      EXPECT_EQ(contest.wanted() == usual, i < kTrial);
      ++wanted[static_cast<std::size_t>(contest.wanted())];
      contest.note(contest.wanted(), microseconds(1));
    }
    EXPECT_FALSE(contest.tries());
    EXPECT_EQ(wanted, (Counts{kTrial, kTrial, kTrial}));
  }
}

TEST(Contest, WantsTheQuickestWay) {
  for (const Way quickest : kWays) {
    Contest contest(Way::lend, kLap);
    play_trials(contest, [&](Way way) { return microseconds(way == quickest ? 10 : 15); });
    EXPECT_EQ(contest.wanted(), quickest);
  }
}

TEST(Contest, GivesAWayUpEarlyThatIsFarBehind) {
  Contest contest(Way::lend, kLap);
  const auto took = [](Way way) {
    return microseconds(way == Way::lend ? 20 : way == Way::stage ? 100 : 30);
  };
  EXPECT_EQ(play_trials(contest, took), (Counts{kTrial, contest.least_trial(), kTrial}));
  EXPECT_EQ(contest.wanted(), Way::lend);
}

TEST(Contest, GivesAWayUpAtAGlanceWhenItTriesAgain) {
  constexpr std::uint32_t kManyCalls = 64;
  Contest contest(Way::lend, kManyCalls);
  const auto took = [](Way way) { return microseconds(way == Way::lend ? 20 : 50); };
  play_trials(contest, took);
  play_until_trials(contest, took);
  const std::uint32_t glance = kManyCalls + Contest::kGlance;
  EXPECT_EQ(play_trials(contest, took), (Counts{contest.trial(), glance, glance}));
  EXPECT_EQ(contest.wanted(), Way::lend);
}

TEST(Contest, TriesAWayForLongThatIsNotFarBehindAtAGlance) {
  constexpr std::uint32_t kManyCalls = 64;
  Contest contest(Way::lend, kManyCalls);
  play_trials(contest, lending_is_quicker);
  play_until_trials(contest, lending_is_quicker);
  std::uint32_t staged = 0;
  play_trials(contest, [&](Way way) -> Duration {
    if (way != Way::stage) return lending_is_quicker(way);
    const std::uint32_t glance = kManyCalls + Contest::kGlance;
    return microseconds(++staged == glance ? 19 : staged < glance ? 50 : 5);
  });
  EXPECT_EQ(contest.wanted(), Way::stage);
}

TEST(Contest, DoesNotGiveUpAWayOfTheLargestBlocksBecauseOfOneSlowCall) {
  for (std::uint32_t when = 0; when < 4; ++when) {
    Contest contest(Way::lend, 1);
    play_trials(contest, lending_is_quicker);
    play_until_trials(contest, lending_is_quicker);
    std::uint32_t staged = 0;
    play_trials(contest, [&](Way way) -> Duration {
      if (way != Way::stage) return lending_is_quicker(way);
      return microseconds(staged++ == when ? 5000 : 1);
    });
    EXPECT_EQ(contest.wanted(), Way::stage) << when;
  }
}

TEST(Contest, DoesNotGiveAWayUpBecauseOfAnInterruption) {
  for (std::uint32_t when = 0; when < kTrial; ++when) {
    Contest contest(Way::lend, kLap);
    std::uint32_t staged = 0;
    const auto took = [&](Way way) -> Duration {
      if (way != Way::stage) return microseconds(20);
      return microseconds(staged++ == when ? 5000 : 10);
    };
    EXPECT_EQ(play_trials(contest, took), (Counts{kTrial, kTrial, kTrial})) << when;
    EXPECT_EQ(contest.wanted(), Way::stage) << when;
  }
}

TEST(Contest, NeverLendsWhereThatIsNotAllowed) {
  for (const std::size_t block : {kLendFrom, 16 * kLendFrom, 256 * kLendFrom}) {
    const std::size_t kind = kind_of(Operation::gather, block);
    Contest contest = Contest::of(kind, false);
    EXPECT_EQ(lent(play(contest, 10 * contest.trial(), lending_is_quicker)), 0U);
    EXPECT_NE(contest.wanted(), Way::lend);
    EXPECT_NE(usual_way(kind, false), Way::lend);
  }
}

// So the others need not be tried for long, should they still be far behind.
TEST(Contest, BeginsAgainWithTheWayThatWasBest) {
  Contest contest = after_the_first(staging_is_quicker);
  EXPECT_EQ(contest.wanted(), Way::stage);
  EXPECT_EQ(play_trials(contest, staging_is_quicker),
            (Counts{contest.least_trial(), kTrial, kTrial}));
}

TEST(Contest, TriesAgainSoonAfterItsFirstResult) {
  Contest contest(Way::lend, kLap);
  play_trials(contest, staging_is_quicker);
  EXPECT_EQ(play_until_trials(contest, staging_is_quicker),
            (Counts{0, Contest::kFirstPeriod * kTrial, 0}));
}

TEST(Contest, WantsTheQuickestWayUntilItTriesAgain) {
  Contest contest = after_the_first(lending_is_quicker);
  play_trials(contest, staging_is_quicker);
  EXPECT_EQ(play_until_trials(contest, staging_is_quicker),
            (Counts{0, Contest::kPeriod * kTrial, 0}));
}

TEST(Contest, FollowsWhenAnotherWayBecomesQuicker) {
  Contest contest = after_the_first(lending_is_quicker);
  const auto round = [&](auto took) {
    play_trials(contest, took);
    return play_until_trials(contest, took);
  };
  EXPECT_EQ(round(lending_is_quicker), (Counts{Contest::kPeriod * kTrial, 0, 0}));
  EXPECT_EQ(round([](Way way) { return microseconds(way == Way::lend ? 10 : 5); }),
            (Counts{0, Contest::kPeriod * kTrial, 0}));
  EXPECT_EQ(round(lending_is_quicker), (Counts{Contest::kPeriod * kTrial, 0, 0}));
}

TEST(Contest, TriesAgainSoonWhenItsWayBecomesSlow) {
  Contest contest(Way::lend, kLap);
  play_trials(contest, lending_is_quicker);
  play(contest, Contest::kLeast * kTrial, lending_is_quicker);
  ASSERT_FALSE(contest.tries());
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_TRUE(contest.tries());
  play_trials(contest, staging_is_quicker);
  EXPECT_EQ(contest.wanted(), Way::stage);
}

TEST(Contest, DoesNotTryAgainBecauseOfSomeSlowCalls) {
  Contest contest = after_the_first(lending_is_quicker);
  play_trials(contest, lending_is_quicker);
  std::uint32_t calls = 0;
  const auto wanted = play(contest, (Contest::kPeriod - 1) * kTrial, [&](Way way) -> Duration {
    return ++calls % (2 * kTrial) <= 6 * kLap ? microseconds(1000) : lending_is_quicker(way);
  });
  EXPECT_EQ(not_lent(wanted), 0U);
}

// Others may be late for longer and longer.
TEST(Contest, TriesSeldomWhenCallsBecomeSlowForAnotherReason) {
  Contest contest(Way::lend, kLap);
  play_trials(contest, lending_is_quicker);
  Duration lateness = microseconds(100);
  const auto late = [&](Way way) { return lending_is_quicker(way) + lateness; };
  for (const std::uint32_t times : {2U, 2U, 4U, 8U, 16U, 32U, Contest::kPeriod}) {
    EXPECT_EQ(lent(play_until_trials(contest, late)), times * kTrial);
    play_trials(contest, late);
    lateness *= 2;
  }
}

TEST(Contest, TriesAgainSoonAfterAChange) {
  Contest contest(Way::lend, kLap);
  play_trials(contest, lending_is_quicker);
  const auto becomes = [&](Way best, auto took) {
    EXPECT_LE(lent(play_until_trials(contest, took)), Contest::kLeast * kTrial);
    play_trials(contest, took);
    EXPECT_EQ(contest.wanted(), best);
  };
  const auto lending_is_far_quicker = [](Way way) {
    return microseconds(way == Way::lend ? 10 : 40);
  };
  for (int i = 0; i < 5; ++i) {
    becomes(Way::stage, staging_is_quicker);
    becomes(Way::lend, lending_is_far_quicker);
  }
}

TEST(Contest, IsNotDecidedByOneInterruption) {
  for (std::uint32_t when = 0; when < kTrial; ++when) {
    Contest contest(Way::lend, kLap);
    std::uint32_t calls = 0;
    play_trials(contest, [&](Way way) -> Duration {
      return way == Way::lend && calls++ == when ? microseconds(5000) : lending_is_quicker(way);
    });
    EXPECT_EQ(contest.wanted(), Way::lend) << when;
  }
}

// Now and then all is at hand by chance.
TEST(Contest, IsNotDecidedByOneLuckyLapOfSmallBlocks) {
  constexpr std::uint32_t kManyCalls = 64;
  Contest contest(Way::lend, kManyCalls);
  std::uint32_t staged = 0;
  play_trials(contest, [&](Way way) -> Duration {
    if (way != Way::stage) return microseconds(way == Way::lend ? 20 : 25);
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
  play_trials(contest, [&](Way way) -> Duration {
    if (way != Way::stage) return microseconds(20);
    return microseconds(++staged <= kLap ? 1000 : 10);
  });
  EXPECT_EQ(contest.wanted(), Way::stage);
}

// Who is ahead finds all there for some calls, and has to wait for the next.
TEST(Contest, GoesByTheMeanOfItsCalls) {
  Contest contest(Way::lend, kLap);
  std::uint32_t staged = 0;
  play_trials(contest, [&](Way way) -> Duration {
    if (way != Way::stage) return microseconds(20);
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
  play_trials(contest, staging_is_quicker);
  EXPECT_EQ(contest.wanted(), Way::stage);
}

// What is far behind is given up, and what is tried after it is still given in that way at first.
TEST(Contest, FindsTheQuickestWayAlsoWhereItIsFollowedALapLate) {
  constexpr std::uint32_t kManyCalls = 64;
  Contest contest(Way::lend, kManyCalls);
  Duration streamed = microseconds(100);
  const auto took = [&](Way way) -> Duration {
    return way == Way::stream ? streamed : microseconds(way == Way::lend ? 80 : 400);
  };
  std::deque<Way> under_way(kManyCalls - 1, contest.wanted());
  const auto play_late = [&](auto goes_on) {
    while (goes_on()) {
      under_way.push_back(contest.wanted());
      contest.note(contest.wanted(), took(under_way.front()));
      under_way.pop_front();
    }
  };
  const auto tries = [&] { return contest.tries(); };
  const auto rests = [&] { return !contest.tries(); };
  play_late(tries);
  ASSERT_EQ(contest.wanted(), Way::lend);
  streamed = microseconds(50);
  play_late(rests);
  play_late(tries);
  EXPECT_EQ(contest.wanted(), Way::stream);
}

TEST(Contest, KeepsOperationsAndSizesApart) {
  EXPECT_EQ(block_of(kLoanSizes - 1), std::size_t{64} << 20);
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
