#include <cstdlib>
#include <functional>
#include <iostream>

#include <gtest/gtest.h>

#include "muster/base/log.h"
#include "tests/sim/world.h"
#include "tests/support/seed.h"

namespace muster::sim {
namespace {

// How many seeds one run tries; scripts/soak raises it.
int seeds() {
  const char* const text = std::getenv("MUSTER_SIM_SEEDS");
  return text == nullptr ? 300 : std::atoi(text);
}

class Simulation : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::off); }
  void TearDown() override { set_log_level(LogLevel::warning); }
};

TEST_F(Simulation, LosesNothingRepeatsNothingAndNeverWaitsForEver) {
  const std::uint64_t first = test_seed();
  Outcome total;
  for (int i = 0; i < seeds(); ++i) {
    Plan plan;
    plan.seed = first * 1'000'003 + static_cast<std::uint64_t>(i);
    plan.nodes = 2 + i % 4;
    const Outcome outcome = run(plan);
    ASSERT_EQ(outcome.violation, "")
        << "replay with MUSTER_SIM_REPLAY=" << plan.seed << "," << plan.nodes;
    total.delivered += outcome.delivered;
    total.crashes += outcome.crashes;
    total.rejoins += outcome.rejoins;
    total.lost_replies += outcome.lost_replies;
  }
  std::cout << seeds() << " seeds: " << total.delivered << " requests delivered, " << total.crashes
            << " crashes, " << total.rejoins << " returns, " << total.lost_replies
            << " replies reported lost\n";
  EXPECT_GT(total.delivered, 0u);
  EXPECT_GT(total.crashes, 0u);
}

// Runs the one plan that MUSTER_SIM_REPLAY=SEED,NODES names, with the library's log.
TEST_F(Simulation, ReplaysAFailureWhenAsked) {
  const char* const text = std::getenv("MUSTER_SIM_REPLAY");
  Plan plan;
  if (text == nullptr) return;
  char* rest = nullptr;
  plan.seed = std::strtoull(text, &rest, 10);
  plan.nodes = std::atoi(rest + 1);
  set_log_level(LogLevel::debug);
  EXPECT_EQ(run(plan).violation, "");
}

TEST_F(Simulation, ReplaysASeedExactly) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Plan plan{.seed = seed};
    EXPECT_EQ(run(plan).trace, run(plan).trace) << seed;
  }
}

// A simulation that finds no bugs proves nothing: each of these must be found.
struct Planted {
  std::string label;
  std::function<void(Plan&)> plant;
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.label; }

class PlantedBug : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFound) {
  set_log_level(LogLevel::off);
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Plan plan;
    plan.seed = seed;
    GetParam().plant(plan);
    const Outcome outcome = run(plan);
    if (!outcome.violation.empty()) {
      std::cout << GetParam().label << ": seed " << seed << ": " << outcome.violation << "\n";
      set_log_level(LogLevel::warning);
      return;
    }
  }
  set_log_level(LogLevel::warning);
  FAIL() << "300 seeds did not find " << GetParam().label;
}

INSTANTIATE_TEST_SUITE_P(
    Simulation, PlantedBug,
    ::testing::Values(
        Planted{"skip_deduplication",
                [](Plan& plan) { plan.link_faults.skip_deduplication = true; }},
        Planted{"never_retransmit", [](Plan& plan) { plan.link_faults.never_retransmit = true; }},
        Planted{"ack_before_delivery_order",
                [](Plan& plan) { plan.link_faults.ack_before_delivery_order = true; }},
        Planted{"flush_cache_last", [](Plan& plan) { plan.router_faults.flush_cache_last = true; }},
        Planted{"forget_lost_sessions",
                [](Plan& plan) { plan.router_faults.forget_lost_sessions = true; }}),
    [](const auto& test) { return test.param.label; });

}  // namespace
}  // namespace muster::sim
