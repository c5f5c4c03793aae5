#include "muster/cluster/schedule/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGiB = 1ull << 30;

Resources cpus(std::uint64_t cores) { return {.cpu_milli = cores * 1000}; }

PlannerNode node(std::string name, Resources total, Resources used = {}) {
  return {.name = std::move(name), .total = total, .used = used, .instances = 0};
}

/// Jobs get the times 1, 2, 3, … in the order in which they are made.
class PlannerTest : public testing::Test {
 protected:
  PlannerJob job(std::string name, std::uint32_t num, Resources each) {
    return {.name = std::move(name),
            .submitted = ++time_,
            .priority = 0,
            .allocation = {},
            .components = {{"actor", num, each}}};
  }

 private:
  milliseconds time_{0};
};

std::vector<std::uint32_t> started(const Plan& plan) {
  std::vector<std::uint32_t> jobs;
  for (const JobStart& start : plan.starts) jobs.push_back(start.job);
  return jobs;
}

std::vector<std::uint32_t> nodes_of(const JobStart& start) {
  std::vector<std::uint32_t> nodes;
  for (const Placement& placement : start.placements) nodes.push_back(placement.node);
  return nodes;
}

TEST_F(PlannerTest, StartsJobsInTheOrderOfSubmission) {
  const auto first = job("first", 1, cpus(1));
  const auto second = job("second", 1, cpus(1));
  EXPECT_THAT(started(plan({node("n", cpus(4))}, {second, first})), ElementsAre(1, 0));
}

TEST_F(PlannerTest, StartsAllInstancesOrNone) {
  const Plan result =
      plan({node("n", cpus(4)), node("m", cpus(1), cpus(1))}, {job("gang", 5, cpus(1))});
  EXPECT_THAT(result.starts, IsEmpty());
  ASSERT_THAT(result.waits, SizeIs(1));
  EXPECT_EQ(result.waits[0].cause, WaitCause::no_room);
  EXPECT_EQ(result.waits[0].reason,
            "component 'actor' needs 1 cpu each: 4 of 5 instances fit into what is free");
}

TEST_F(PlannerTest, AGangThatDoesNotFitTakesNothingFromTheNext) {
  auto gang = job("gang", 5, cpus(1));
  gang.components.push_back({"learner", 1, {.gpu = 1}});  // of which there are none
  const Plan result = plan({node("n", cpus(5))}, {gang, job("other", 5, cpus(1))});
  EXPECT_THAT(started(result), ElementsAre(1));
}

TEST_F(PlannerTest, BalancedPutsEachInstanceWhereMostIsFree) {
  const Plan result = plan({node("a", cpus(4)), node("b", cpus(6)), node("c", cpus(5), cpus(1))},
                           {job("x", 5, cpus(1))});
  EXPECT_THAT(nodes_of(result.starts.at(0)), ElementsAre(1, 1, 0, 2, 1));
}

TEST_F(PlannerTest, BalancedSpreadsInstancesThatTakeNothing) {
  const Plan result = plan({node("a", cpus(4)), node("b", cpus(4))}, {job("x", 4, {})});
  EXPECT_THAT(nodes_of(result.starts.at(0)), ElementsAre(0, 1, 0, 1));
}

TEST_F(PlannerTest, CompactedFillsTheFullestNodeThatHasRoom) {
  auto x = job("x", 4, cpus(2));
  x.allocation.mode = AllocationMode::compacted;
  const Plan result = plan({node("a", cpus(9)), node("b", cpus(1)), node("c", cpus(4))}, {x});
  EXPECT_THAT(nodes_of(result.starts.at(0)), ElementsAre(2, 2, 0, 0));
}

TEST_F(PlannerTest, LooksAtTheMetricOfTheJob) {
  auto x = job("x", 1, {.cpu_milli = 1, .memory = kGiB});
  x.allocation.metric = Metric::memory;
  const std::vector<PlannerNode> nodes = {node("a", {.cpu_milli = 9000, .memory = 2 * kGiB}),
                                          node("b", {.cpu_milli = 1000, .memory = 4 * kGiB})};
  EXPECT_THAT(nodes_of(plan(nodes, {x}).starts.at(0)), ElementsAre(1));
}

TEST_F(PlannerTest, PassesOverNodesThatLackAnotherResource) {
  for (const auto mode : {AllocationMode::balanced, AllocationMode::compacted}) {
    auto x = job("x", 2, {.cpu_milli = 1000, .gpu = 1});
    x.allocation.mode = mode;
    const std::vector<PlannerNode> nodes = {
        node("a", cpus(8)), node("b", {.cpu_milli = 4000, .gpu = 2}), node("c", cpus(2))};
    EXPECT_THAT(nodes_of(plan(nodes, {x}).starts.at(0)), ElementsAre(1, 1));
  }
}

TEST_F(PlannerTest, PlacesTheLargestComponentsFirst) {
  auto x = job("x", 2, cpus(1));
  x.components.push_back({"learner", 1, cpus(4)});
  const Plan result = plan({node("a", cpus(4)), node("b", cpus(2))}, {x});
  ASSERT_THAT(result.starts, SizeIs(1));
  EXPECT_THAT(result.starts[0].placements,
              ElementsAre(Placement{0, 0, 1}, Placement{0, 1, 1}, Placement{1, 0, 0}));
}

TEST_F(PlannerTest, BackfillsBesideTheReservation) {
  // The first needs both cores and waits for the one that is taken; the GPU is of no use to it.
  const std::vector<PlannerNode> nodes = {node("n", {.cpu_milli = 2000, .gpu = 1}, cpus(1))};
  const Plan result =
      plan(nodes, {job("big", 1, cpus(2)), job("small", 1, cpus(1)), job("gpu", 1, {.gpu = 1})});
  EXPECT_THAT(started(result), ElementsAre(2));
  ASSERT_THAT(result.waits, SizeIs(2));
  EXPECT_EQ(result.waits[0].cause, WaitCause::no_room);
  EXPECT_EQ(result.waits[1].cause, WaitCause::behind);
  EXPECT_THAT(result.waits[1].reason, HasSubstr("beside what is kept for job 'big'"));
}

TEST_F(PlannerTest, KeepsTheReservedPlacesFreeWhenOthersEnd) {
  const auto big = job("big", 2, cpus(4));
  const auto small = job("small", 1, cpus(1));
  const std::vector<PlannerNode> nodes = {node("a", cpus(4), cpus(1)), node("b", cpus(4))};
  EXPECT_THAT(plan(nodes, {big, small}).starts, IsEmpty());
  const std::vector<PlannerNode> later = {node("a", cpus(4)), node("b", cpus(4))};
  EXPECT_THAT(started(plan(later, {big, small})), ElementsAre(0));
}

TEST_F(PlannerTest, TriesTheReservedPlacesWherePlacingOneByOneFails) {
  // Empty, 'learner' goes to a and 'actor' to b. Now b has more cpu free, but if 'learner' takes
  // it, 'actor' finds no memory.
  auto x = job("x", 1, {.cpu_milli = 1000, .memory = 3});
  x.components.push_back({"learner", 1, {.cpu_milli = 2000, .memory = 1}});
  const std::vector<PlannerNode> nodes = {
      node("a", {.cpu_milli = 4000, .memory = 1}, {.cpu_milli = 1500}),
      node("b", {.cpu_milli = 3000, .memory = 3})};
  const Plan result = plan(nodes, {x});
  ASSERT_THAT(result.starts, SizeIs(1));
  EXPECT_THAT(nodes_of(result.starts[0]), ElementsAre(1, 0));
}

TEST_F(PlannerTest, AJobThatCanNeverRunHoldsUpNobody) {
  const Plan result = plan({node("n", cpus(2))}, {job("huge", 1, cpus(3)), job("x", 1, cpus(2))});
  EXPECT_THAT(started(result), ElementsAre(1));
  ASSERT_THAT(result.waits, SizeIs(1));
  EXPECT_EQ(result.waits[0].cause, WaitCause::never);
  EXPECT_EQ(result.waits[0].reason,
            "component 'actor' needs 3 cpu each, and no node has more than 2 cpu");
}

TEST_F(PlannerTest, SaysNeverAlsoBehindAReservation) {
  const Plan result =
      plan({node("n", cpus(2), cpus(1))}, {job("head", 1, cpus(2)), job("huge", 1, {.gpu = 1})});
  ASSERT_THAT(result.waits, SizeIs(2));
  EXPECT_EQ(result.waits[1].cause, WaitCause::never);
  EXPECT_THAT(result.waits[1].reason, HasSubstr("no node has more than 0 gpu"));
}

TEST_F(PlannerTest, WithoutNodesAllWait) {
  const Plan result = plan({}, {job("x", 1, {})});
  ASSERT_THAT(result.waits, SizeIs(1));
  EXPECT_EQ(result.waits[0].reason, "there are no nodes");
}

TEST_F(PlannerTest, APriorityIsWorthATimeOfWaiting) {
  auto early = job("early", 1, cpus(1));
  auto urgent = job("urgent", 1, cpus(1));
  urgent.priority = 2;
  const std::vector<PlannerNode> nodes = {node("n", cpus(1))};
  const PlannerOptions options{.ageing = milliseconds(60'000)};
  urgent.submitted = early.submitted + milliseconds(119'999);
  EXPECT_THAT(started(plan(nodes, {early, urgent}, options)), ElementsAre(1));
  urgent.submitted = early.submitted + milliseconds(120'001);
  EXPECT_THAT(started(plan(nodes, {early, urgent}, options)), ElementsAre(0));
}

TEST_F(PlannerTest, StartsNoMoreJobsThanMayRun) {
  const PlannerOptions options{.max_jobs = 3, .running_jobs = 1};
  const Plan result =
      plan({node("n", cpus(9))}, {job("a", 1, {}), job("b", 1, {}), job("c", 1, {})}, options);
  EXPECT_THAT(started(result), ElementsAre(0, 1));
  ASSERT_THAT(result.waits, SizeIs(1));
  EXPECT_EQ(result.waits[0].cause, WaitCause::no_slot);
  EXPECT_EQ(result.waits[0].reason, "3 jobs run, and no more may at once");
}

TEST_F(PlannerTest, KeepsASlotForTheJobWithTheReservation) {
  const PlannerOptions options{.max_jobs = 2, .running_jobs = 1};
  const Plan result = plan({node("n", {.cpu_milli = 2000, .gpu = 1}, cpus(1))},
                           {job("big", 1, cpus(2)), job("gpu", 1, {.gpu = 1})}, options);
  EXPECT_THAT(result.starts, IsEmpty());
  EXPECT_EQ(result.waits.at(1).cause, WaitCause::no_slot);
}

TEST_F(PlannerTest, ManagesWithMoreUsedThanThereIs) {
  EXPECT_THAT(plan({node("n", cpus(1), cpus(5))}, {job("x", 1, cpus(1))}).starts, IsEmpty());
}

TEST_F(PlannerTest, TakesAJobFromItsDescription) {
  JobSpec spec;
  spec.name = "x";
  spec.priority = 3;
  spec.components.resize(1);
  spec.components[0].name = "actor";
  spec.components[0].num = 4;
  spec.components[0].resources = cpus(2);
  const PlannerJob result = planner_job(spec, milliseconds(5));
  EXPECT_EQ(result.name, "x");
  EXPECT_EQ(result.submitted, milliseconds(5));
  EXPECT_EQ(result.priority, 3);
  EXPECT_EQ(result.components.at(0).num, 4u);
  EXPECT_EQ(result.components.at(0).each, cpus(2));
}

}  // namespace
}  // namespace muster::cluster
