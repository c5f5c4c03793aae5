#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/sim/schedule_world.h"
#include "tests/support/seed.h"

namespace muster::sim {
namespace {

// What one run tries; scripts/soak raises both.
int number(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

SchedulePlan small_plan(std::uint64_t seed) {
  SchedulePlan plan;
  plan.seed = seed;
  plan.workers = 1 + static_cast<int>(seed % 7);
  plan.sessions = 1 + static_cast<int>(seed % 3);
  plan.tasks = 10 + static_cast<int>(seed % 80);
  plan.faults = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 0.9 : 0.3;
  return plan;
}

void add(ScheduleOutcome& total, const ScheduleOutcome& one) {
  total.runs += one.runs;
  total.crashes += one.crashes;
  total.silences += one.silences;
  total.joins += one.joins;
  total.departures += one.departures;
  total.evictions += one.evictions;
  total.restarts += one.restarts;
  total.cancellations += one.cancellations;
  total.late += one.late;
  total.events += one.events;
  total.scheduler_seconds += one.scheduler_seconds;
}

void print(const std::string& what, const ScheduleOutcome& o) {
  std::cout << what << ": " << o.events << " events, " << o.runs << " runs, " << o.late
            << " late outcomes, " << o.crashes << " crashes, " << o.silences << " silences, "
            << o.joins << " joins, " << o.departures << " departures, " << o.evictions
            << " evictions, " << o.restarts << " restarts, " << o.cancellations
            << " cancellations, " << o.scheduler_seconds * 1e6 / static_cast<double>(o.events)
            << " us per event\n";
}

TEST(ScheduleSimulation, EveryGraphEndsWithTheRightResultsAndNothingIsLeft) {
  const int seeds = number("MUSTER_SIM_SEEDS", 300);
  const std::uint64_t first = test_seed();
  ScheduleOutcome total;
  for (int i = 0; i < seeds; ++i) {
    const SchedulePlan plan = small_plan(first * 1'000'003 + static_cast<std::uint64_t>(i));
    const ScheduleOutcome outcome = run_schedule(plan);
    ASSERT_EQ(outcome.violation, "") << "replay with MUSTER_SIM_REPLAY=" << plan.seed;
    add(total, outcome);
  }
  print(std::to_string(seeds) + " seeds", total);
  EXPECT_GT(total.crashes, 0u);
  EXPECT_GT(total.silences, 0u);
  EXPECT_GT(total.departures, 0u);
  EXPECT_GT(total.evictions, 0u);
  EXPECT_GT(total.restarts, 0u);
  EXPECT_GT(total.cancellations, 0u);
  EXPECT_GT(total.late, 0u);
}

TEST(ScheduleSimulation, ATaskThatKillsItsWorkersFailsItsGraphAndNoOther) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SchedulePlan plan = small_plan(seed);
    plan.sessions = 2;
    plan.faults = 0;
    plan.poison = true;
    ASSERT_EQ(run_schedule(plan).violation, "") << "seed " << seed;
  }
}

TEST(ScheduleSimulation, GoesOnWithOthersWhenAllWorkersLeaveAtOnce) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SchedulePlan plan = small_plan(seed);
    plan.workers = 3;
    plan.faults = 0;
    plan.exodus = true;
    ASSERT_EQ(run_schedule(plan).violation, "") << "seed " << seed;
  }
}

// The big one: MUSTER_SIM_TASKS=1000000 under scripts/soak.
TEST(ScheduleSimulation, KeepsItsRulesWithAThousandWorkers) {
  const int tasks = number("MUSTER_SIM_TASKS", 5000);
  SchedulePlan plan;
  plan.seed = test_seed();
  plan.workers = tasks >= 1'000'000 ? 1000 : 200;
  plan.sessions = 2;
  plan.tasks = tasks / 6;
  plan.faults = 0.5;
  plan.cancels = false;               // all tasks shall run
  plan.restarts = tasks < 1'000'000;  // a journal of gigabytes replayed again and again
  const ScheduleOutcome outcome = run_schedule(plan);
  EXPECT_EQ(outcome.violation, "");
  print(std::to_string(tasks) + " tasks", outcome);
}

// Runs the plan that MUSTER_SIM_REPLAY=SEED names.
TEST(ScheduleSimulation, ReplaysAFailureWhenAsked) {
  const char* const text = std::getenv("MUSTER_SIM_REPLAY");
  if (text == nullptr) return;
  EXPECT_EQ(run_schedule(small_plan(std::strtoull(text, nullptr, 10))).violation, "");
}

// A simulation that finds no bugs proves nothing: each of these must be found.
struct PlantedFault {
  std::string label;
  bool engine::ScheduleFaults::* fault;
};

void PrintTo(const PlantedFault& planted, std::ostream* out) { *out << planted.label; }

class PlantedScheduleBug : public ::testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedScheduleBug, IsFound) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SchedulePlan plan = small_plan(seed);
    plan.bugs.*GetParam().fault = true;
    const ScheduleOutcome outcome = run_schedule(plan);
    if (outcome.violation.empty()) continue;
    std::cout << GetParam().label << ": seed " << seed << ": " << outcome.violation << "\n";
    return;
  }
  FAIL() << "300 seeds did not find " << GetParam().label;
}

INSTANTIATE_TEST_SUITE_P(
    ScheduleSimulation, PlantedScheduleBug,
    ::testing::Values(
        PlantedFault{"forget_ready_readers", &engine::ScheduleFaults::forget_ready_readers},
        PlantedFault{"forget_running_tasks", &engine::ScheduleFaults::forget_running_tasks},
        PlantedFault{"keep_read_chunks", &engine::ScheduleFaults::keep_read_chunks},
        PlantedFault{"admit_always", &engine::ScheduleFaults::admit_always}),
    [](const auto& test) { return test.param.label; });

}  // namespace
}  // namespace muster::sim
