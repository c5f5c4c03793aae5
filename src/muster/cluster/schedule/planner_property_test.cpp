// What holds for every plan, tried on random clusters and queues.

#include <algorithm>
#include <deque>
#include <map>
#include <rapidcheck.h>

#include <gtest/gtest.h>

#include "muster/cluster/schedule/planner.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;

constexpr Resources kMost = {8000, 8, 2};

Resources any_resources(const Resources& most) {
  return {.cpu_milli = 500 * *rc::gen::inRange<std::uint64_t>(0, most.cpu_milli / 500 + 1),
          .memory = *rc::gen::inRange<std::uint64_t>(0, most.memory + 1),
          .gpu = *rc::gen::inRange<std::uint64_t>(0, most.gpu + 1)};
}

std::vector<PlannerNode> any_nodes() {
  std::vector<PlannerNode> nodes(*rc::gen::inRange<std::size_t>(0, 6));
  for (PlannerNode& node : nodes) {
    node.total = any_resources(kMost);
    node.used = any_resources(node.total);
  }
  return nodes;
}

PlannerJob any_job(int number) {
  PlannerJob job;
  job.name = "job" + std::to_string(number);
  job.submitted = milliseconds(*rc::gen::inRange(0, 1000));
  job.priority = *rc::gen::inRange(-2, 3);
  job.allocation.mode = *rc::gen::element(AllocationMode::balanced, AllocationMode::compacted);
  job.allocation.metric = *rc::gen::element(Metric::cpu, Metric::memory, Metric::gpu);
  job.components.resize(*rc::gen::inRange<std::size_t>(1, 4));
  for (PlannerComponent& component : job.components) {
    component.num = *rc::gen::inRange(0u, 5u);
    component.each = any_resources({4000, 4, 1});
  }
  return job;
}

std::vector<PlannerJob> any_jobs() {
  std::vector<PlannerJob> jobs;
  const int count = *rc::gen::inRange(0, 12);
  for (int number = 0; number < count; ++number) jobs.push_back(any_job(number));
  return jobs;
}

PlannerOptions any_options() {
  PlannerOptions options;
  if (*rc::gen::arbitrary<bool>()) options.max_jobs = *rc::gen::inRange(0u, 6u);
  options.running_jobs = *rc::gen::inRange(0u, 4u);
  options.ageing = milliseconds(100);
  return options;
}

/// What is used once the plan is carried out.
std::vector<PlannerNode> carried_out(std::vector<PlannerNode> nodes,
                                     const std::vector<PlannerJob>& jobs, const Plan& plan) {
  for (const JobStart& start : plan.starts) {
    for (const Placement& placement : start.placements) {
      nodes.at(placement.node).used += jobs.at(start.job).components[placement.component].each;
    }
  }
  return nodes;
}

TEST(PlannerProperty, NeverTakesMoreThanThereIs) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = any_nodes();
    const auto jobs = any_jobs();
    for (const PlannerNode& node : carried_out(nodes, jobs, plan(nodes, jobs, any_options()))) {
      RC_ASSERT(node.total.holds(node.used));
    }
  }));
}

TEST(PlannerProperty, NeverStartsHalfAGang) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = any_nodes();
    const auto jobs = any_jobs();
    for (const JobStart& start : plan(nodes, jobs, any_options()).starts) {
      std::vector<Placement> expected;
      const auto& components = jobs.at(start.job).components;
      for (std::uint32_t component = 0; component < components.size(); ++component) {
        for (std::uint32_t index = 0; index < components[component].num; ++index) {
          expected.push_back({component, index, 0});
        }
      }
      auto placements = start.placements;
      for (Placement& placement : placements) placement.node = 0;
      RC_ASSERT(placements == expected);
    }
  }));
}

TEST(PlannerProperty, EveryJobStartsOrWaitsOnceAndNoMoreRunThanMay) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = any_nodes();
    const auto jobs = any_jobs();
    const auto options = any_options();
    const Plan result = plan(nodes, jobs, options);
    std::vector<std::uint32_t> seen;
    for (const JobStart& start : result.starts) seen.push_back(start.job);
    for (const JobWait& wait : result.waits) {
      RC_ASSERT(!wait.reason.empty());
      seen.push_back(wait.job);
    }
    std::ranges::sort(seen);
    RC_ASSERT(seen.size() == jobs.size());
    for (std::uint32_t i = 0; i < seen.size(); ++i) RC_ASSERT(seen[i] == i);
    if (options.max_jobs && !result.starts.empty()) {
      RC_ASSERT(result.starts.size() + options.running_jobs <= *options.max_jobs);
    }
  }));
}

TEST(PlannerProperty, TheSameInputGivesTheSamePlan) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = any_nodes();
    const auto jobs = any_jobs();
    const auto options = any_options();
    RC_ASSERT(plan(nodes, jobs, options) == plan(nodes, jobs, options));
  }));
}

TEST(PlannerProperty, CarryingOutThePlanLeavesNothingToStart) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = any_nodes();
    auto jobs = any_jobs();
    // With several components, placing them one by one may fail in more room and succeed in less.
    for (PlannerJob& job : jobs) job.components.resize(1);
    const Plan first = plan(nodes, jobs);
    std::vector<PlannerJob> left;
    for (const JobWait& wait : first.waits) left.push_back(jobs[wait.job]);
    RC_ASSERT(plan(carried_out(nodes, jobs, first), left).starts.empty());
  }));
}

/// A cluster on which jobs run for a few steps, and new ones always come.
class Simulation {
 public:
  explicit Simulation(std::vector<PlannerNode> nodes) : nodes_(std::move(nodes)) {
    for (PlannerNode& node : nodes_) node.used = {};
  }

  void submit(PlannerJob job, int steps) {
    job.submitted = milliseconds(now_);
    queue_.push_back({std::move(job), steps});
  }

  /// Ends what is due and starts what is planned.
  void step(const PlannerOptions& options) {
    ++now_;
    std::erase_if(running_, [&](const Running& job) {
      if (job.until > now_) return false;
      for (const auto& [node, each] : job.held) nodes_[node].used -= each;
      return true;
    });
    std::vector<PlannerJob> jobs;
    for (const Queued& queued : queue_) jobs.push_back(queued.job);
    PlannerOptions now = options;
    now.running_jobs = static_cast<std::uint32_t>(running_.size());
    const Plan result = plan(nodes_, jobs, now);
    std::vector<bool> gone(queue_.size(), false);
    for (const JobStart& start : result.starts) {
      const Queued& queued = queue_[start.job];
      Running running{now_ + queued.steps, {}};
      for (const Placement& placement : start.placements) {
        const Resources& each = queued.job.components[placement.component].each;
        nodes_[placement.node].used += each;
        running.held.emplace_back(placement.node, each);
      }
      running_.push_back(std::move(running));
      gone[start.job] = true;
    }
    std::deque<Queued> left;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      if (!gone[i]) left.push_back(std::move(queue_[i]));
    }
    queue_ = std::move(left);
  }

  [[nodiscard]] bool waits(const std::string& name) const {
    return std::ranges::any_of(queue_, [&](const Queued& each) { return each.job.name == name; });
  }

 private:
  struct Queued {
    PlannerJob job;
    int steps;
  };
  struct Running {
    int until;
    std::vector<std::pair<std::uint32_t, Resources>> held;
  };

  std::vector<PlannerNode> nodes_;
  std::deque<Queued> queue_;
  std::vector<Running> running_;
  int now_ = 0;
};

TEST(PlannerProperty, NoJobThatCouldRunWaitsForEver) {
  EXPECT_TRUE(rc::check([] {
    constexpr int kLongest = 5;
    constexpr int kCrowd = 3;  // new jobs per step
    auto nodes = any_nodes();
    PlannerOptions options;
    options.ageing = milliseconds(2);  // as many steps
    if (*rc::gen::arbitrary<bool>()) options.max_jobs = *rc::gen::inRange(1u, 4u);
    auto patient = any_job(0);
    patient.name = "patient";
    patient.submitted = milliseconds(0);
    auto empty = nodes;
    for (PlannerNode& node : empty) node.used = {};
    RC_PRE(!plan(empty, {patient}).starts.empty());

    Simulation simulation(nodes);
    const auto crowd = [&] {
      for (int i = 0; i < kCrowd; ++i) {
        simulation.submit(any_job(1), *rc::gen::inRange(1, kLongest + 1));
      }
    };
    crowd();
    simulation.step(options);
    simulation.submit(patient, 1);
    // Jobs go before it that came earlier or, with more priority, up to four levels later. Each of
    // them may wait for the longest of those that run.
    const int ahead = kCrowd * (2 + 4 * 2);
    int left = (ahead + 2) * (kLongest + 1);
    while (simulation.waits("patient")) {
      RC_ASSERT(left-- > 0);
      crowd();
      simulation.step(options);
    }
  }));
}

TEST(PlannerProperty, SmallJobsDoNotOvertakeALargeOneForEver) {
  EXPECT_TRUE(rc::check([] {
    constexpr int kLongest = 5;
    std::vector<PlannerNode> nodes(*rc::gen::inRange<std::size_t>(1, 4));
    for (PlannerNode& node : nodes) node.total = {4000, 4, 0};
    const auto small = [&] {
      PlannerJob job = any_job(1);
      job.priority = 0;
      job.components = {{"small", 1, {1000, *rc::gen::inRange<std::uint64_t>(0, 2), 0}}};
      return job;
    };
    PlannerJob large = small();
    large.name = "large";
    large.components = {{"large", *rc::gen::inRange(1u, 3u), {4000, 0, 0}}};
    RC_PRE(large.components[0].num <= nodes.size());

    Simulation simulation(nodes);
    const auto crowd = [&] {  // always more than there is room for
      for (std::size_t i = 0; i < 4 * nodes.size(); ++i) {
        simulation.submit(small(), *rc::gen::inRange(1, kLongest + 1));
      }
    };
    crowd();
    simulation.step({});
    simulation.submit(large, 1);
    // Those before it run at once or after the first of them, and each ends.
    int left = 2 * kLongest + 1;
    while (simulation.waits("large")) {
      RC_ASSERT(left-- > 0);
      crowd();
      simulation.step({});
    }
  }));
}

}  // namespace
}  // namespace muster::cluster
