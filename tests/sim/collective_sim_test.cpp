#include <cstdlib>
#include <iostream>
#include <optional>

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "tests/sim/collective_world.h"
#include "tests/support/seed.h"

namespace muster::sim {
namespace {

// How many seeds one run tries; scripts/soak raises it.
int seeds() {
  const char* const text = std::getenv("MUSTER_SIM_SEEDS");
  return text == nullptr ? 300 : std::atoi(text);
}

class CollectiveSimulation : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::off); }
  void TearDown() override { set_log_level(LogLevel::warning); }

  static constexpr double kSomeLoss = 0.2;
  static constexpr double kMuchLoss = 0.5;

  /// The first seed that does.
  static std::optional<std::uint64_t> finds(CollectiveFaults faults, double loss = kSomeLoss) {
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
      const CollectiveOutcome outcome = run_collectives(seed, faults, loss);
      if (outcome.violation.empty()) continue;
      std::cout << "seed " << seed << ": " << outcome.violation << "\n";
      return seed;
    }
    return std::nullopt;
  }
};

TEST_F(CollectiveSimulation, EveryCallEndsAndEveryOkIsRight) {
  const std::uint64_t first = test_seed() * 1'000'003;
  CollectiveOutcome total;
  int crashes = 0;
  for (int i = 0; i < seeds(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const CollectiveOutcome outcome = run_collectives(seed);
    ASSERT_EQ(outcome.violation, "") << "seed " << seed;
    total.right += outcome.right;
    total.failed += outcome.failed;
    crashes += outcome.crashed ? 1 : 0;
  }
  std::cout << seeds() << " seeds: " << total.right << " calls right, " << total.failed
            << " ended by " << crashes << " crashes\n";
  EXPECT_GT(total.right, 0);
  EXPECT_GT(total.failed, 0);
}

TEST_F(CollectiveSimulation, EndsTheCallOfARankThatFellSilentAndLives) {
  // A rank is given up that hears of it only because it is told when it is back.
  const auto seed = finds({.tell_once = true}, kMuchLoss);
  ASSERT_TRUE(seed);
  EXPECT_EQ(run_collectives(*seed, {}, kMuchLoss).violation, "");
}

TEST_F(CollectiveSimulation, EveryCallEndsWhereLinksOftenFallSilent) {
  const std::uint64_t first = test_seed() * 1'000'003;
  for (int i = 0; i < seeds(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    ASSERT_EQ(run_collectives(seed, {}, kMuchLoss).violation, "") << "seed " << seed;
  }
}

TEST_F(CollectiveSimulation, ReplaysASeedExactly) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(run_collectives(seed).trace, run_collectives(seed).trace) << seed;
}

TEST_F(CollectiveSimulation, FindsCallsThatNobodyEnds) {
  EXPECT_TRUE(finds({.forget_departures = true}));
}

TEST_F(CollectiveSimulation, FindsMessagesThatAreMixedUp) {
  EXPECT_TRUE(finds({.ignore_slots = true}));
}

}  // namespace
}  // namespace muster::sim
