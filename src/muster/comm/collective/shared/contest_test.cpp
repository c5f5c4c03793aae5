#include "muster/comm/collective/shared/contest.h"

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

TEST(Contest, WantsTheQuickerWayUntilItTriesAgain) {
  Contest contest(Way::lend, kLap);
  play(contest, 2 * kTrial, staging_is_quicker);
  EXPECT_EQ(play(contest, Contest::kPeriod * kTrial, staging_is_quicker)[0], 0U);
  EXPECT_TRUE(contest.tries());
}

TEST(Contest, FollowsWhenTheOtherWayBecomesQuicker) {
  Contest contest(Way::lend, kLap);
  const std::uint32_t round = (Contest::kPeriod + 2) * kTrial;
  EXPECT_EQ(play(contest, round, lending_is_quicker)[1], kTrial);
  EXPECT_EQ(play(contest, round, staging_is_quicker)[0], kTrial);
  EXPECT_EQ(play(contest, round, lending_is_quicker)[1], kTrial);
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
      EXPECT_EQ(usual_way(kind), block < kStageFrom ? Way::lend : Way::stage);
    }
    EXPECT_EQ(kind_of(operation, std::size_t{1} << 40),
              kind_of(operation, kLendFrom << (kLoanSizes - 1)));
  }
  static_assert(kLoanKinds <= 64, "a bit for each");
}

}  // namespace
}  // namespace muster::comm::collective::shared
