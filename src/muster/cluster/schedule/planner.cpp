#include "muster/cluster/schedule/planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "muster/cluster/schedule/room.h"

namespace muster::cluster {
namespace {

/// The positions of the jobs in the order in which they are taken.
std::vector<std::uint32_t> queue_order(const std::vector<PlannerJob>& jobs,
                                       std::chrono::milliseconds ageing) {
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::uint32_t job) {
    return std::pair(jobs[job].submitted - jobs[job].priority * ageing, job);
  });
  return order;
}

/// "no node has more than 4 gpu", if one resource alone is to blame; otherwise empty.
std::string lacking(const std::vector<PlannerNode>& nodes, const Resources& each) {
  Resources most;
  for (const PlannerNode& node : nodes) {
    most.cpu_milli = std::max(most.cpu_milli, node.total.cpu_milli);
    most.memory = std::max(most.memory, node.total.memory);
    most.gpu = std::max(most.gpu, node.total.gpu);
  }
  if (each.gpu > most.gpu) return fmt::format("no node has more than {} gpu", most.gpu);
  if (each.memory > most.memory) {
    return fmt::format("no node has more than {}", describe({.memory = most.memory}));
  }
  if (each.cpu_milli > most.cpu_milli) {
    return fmt::format("no node has more than {}", describe({.cpu_milli = most.cpu_milli}));
  }
  return "";
}

class Planner {
 public:
  Planner(const std::vector<PlannerNode>& nodes, const std::vector<PlannerJob>& jobs,
          const PlannerOptions& options)
      : nodes_(nodes),
        jobs_(jobs),
        room_(nodes, Room::Of::free_now),
        empty_(nodes, Room::Of::empty_nodes),
        most_jobs_(options.max_jobs) {
    if (options.max_jobs) {
      slots_ = *options.max_jobs - std::min(*options.max_jobs, options.running_jobs);
    }
  }

  Plan run(const std::vector<std::uint32_t>& order) && {
    for (const std::uint32_t job : order) {
      if (head_) {
        consider_behind_head(job);
      } else {
        consider(job);
      }
    }
    return std::move(plan_);
  }

 private:
  void start(std::uint32_t job, std::vector<Placement> placements) {
    plan_.starts.push_back({job, std::move(placements)});
    --slots_;
  }
  void wait(std::uint32_t job, WaitCause cause, std::string reason) {
    plan_.waits.push_back({job, cause, std::move(reason)});
  }
  void wait_for_slot(std::uint32_t job) {
    wait(job, WaitCause::no_slot,
         fmt::format("{} jobs run, and no more may at once", most_jobs_.value_or(0)));
  }

  /// A job that nobody waits before.
  void consider(std::uint32_t number) {
    const PlannerJob& job = jobs_[number];
    if (slots_ == 0) return wait_for_slot(number);
    auto placed = room_.place(job);
    if (placed) return start(number, std::move(*placed));

    auto reserved = empty_.place(job);
    if (!reserved) return wait(number, WaitCause::never, never_text(job, reserved.error()));
    empty_.give_back(job, *reserved);
    // Placing is greedy: it may miss a way to fit all in, but these places are one.
    if (room_.take(job, *reserved)) return start(number, std::move(*reserved));
    room_.reserve(job, *reserved);
    head_ = number;
    wait(number, WaitCause::no_room, short_text(job, placed.error()));
  }

  /// A job that may start only beside the reservation, which is also for one of the slots.
  void consider_behind_head(std::uint32_t number) {
    if (slots_ <= 1) return wait_for_slot(number);
    const PlannerJob& job = jobs_[number];
    auto placed = room_.place(job);
    if (placed) return start(number, std::move(*placed));
    const PlannerComponent& component = job.components[placed.error().component];
    if (placed.error().placed == 0 && !fits_an_empty_node(component.each)) {
      return wait(number, WaitCause::never, never_text(job, placed.error()));
    }
    wait(number, WaitCause::behind,
         fmt::format("{} beside what is kept for job '{}'", short_text(job, placed.error()),
                     jobs_[*head_].name));
  }

  [[nodiscard]] bool fits_an_empty_node(const Resources& each) const {
    return std::ranges::any_of(nodes_,
                               [&](const PlannerNode& node) { return node.total.holds(each); });
  }

  static std::string short_text(const PlannerJob& job, const Shortfall& shortfall) {
    const PlannerComponent& component = job.components[shortfall.component];
    return fmt::format("component '{}' needs {} each: {} of {} instances fit into what is free",
                       component.name, describe(component.each), shortfall.placed, component.num);
  }
  [[nodiscard]] std::string never_text(const PlannerJob& job, const Shortfall& shortfall) const {
    if (nodes_.empty()) return "there are no nodes";
    const PlannerComponent& component = job.components[shortfall.component];
    const std::string what = lacking(nodes_, component.each);
    if (!what.empty()) {
      return fmt::format("component '{}' needs {} each, and {}", component.name,
                         describe(component.each), what);
    }
    return fmt::format(
        "component '{}' needs {} each: {} of {} instances would fit even if nothing ran",
        component.name, describe(component.each), shortfall.placed, component.num);
  }

  const std::vector<PlannerNode>& nodes_;
  const std::vector<PlannerJob>& jobs_;
  Room room_;
  Room empty_;
  std::optional<std::uint32_t> most_jobs_;
  std::uint64_t slots_ = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint32_t> head_;  // the job that has the reservation
  Plan plan_;
};

}  // namespace

PlannerJob planner_job(const JobSpec& spec, std::chrono::milliseconds submitted) {
  PlannerJob job{.name = spec.name,
                 .submitted = submitted,
                 .priority = spec.priority,
                 .allocation = spec.allocation,
                 .components = {}};
  for (const ComponentSpec& component : spec.components) {
    job.components.push_back({component.name, component.num, component.resources});
  }
  return job;
}

Plan plan(const std::vector<PlannerNode>& nodes, const std::vector<PlannerJob>& jobs,
          const PlannerOptions& options) {
  return Planner(nodes, jobs, options).run(queue_order(jobs, options.ageing));
}

}  // namespace muster::cluster
