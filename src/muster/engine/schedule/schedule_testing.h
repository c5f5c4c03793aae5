#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

/// For tests: a scheduler with its clock, and the actions of the last event by kind.
class Rig {
 public:
  explicit Rig(ScheduleOptions options = {}) : scheduler(options) {}

  ScheduleActions& feed(const ScheduleEvent& event) {
    actions.clear();
    scheduler.handle(now, event, actions);
    return actions;
  }
  ScheduleActions& join(std::uint32_t worker, std::uint32_t threads = 1,
                        std::uint64_t memory = 1'000'000) {
    return feed(WorkerJoined{WorkerId(worker), threads, memory, {}, {}});
  }
  ScheduleActions& submit(std::vector<TaskSpec> tasks, std::vector<std::uint32_t> wanted,
                          std::uint32_t session = 0, std::uint32_t graph = 0, bool last = true) {
    return feed(GraphSubmitted{
        SessionId(session), GraphId(graph), {"add"}, std::move(tasks), std::move(wanted), last});
  }
  ScheduleActions& start(const RunTask& run) {
    return feed(TaskStarted{run.worker, run.task, run.attempt});
  }
  ScheduleActions& finish(const RunTask& run, std::vector<std::uint64_t> bytes = {}) {
    return feed(TaskFinished{run.worker, run.task, run.attempt, std::move(bytes)});
  }
  ScheduleActions& fail(const RunTask& run, TaskFault fault,
                        std::vector<std::uint32_t> missing = {}) {
    return feed(
        TaskFailed{run.worker, run.task, run.attempt, fault, "no luck", std::move(missing)});
  }

  /// Those of the last event.
  template <class Action>
  [[nodiscard]] std::vector<Action> all() const {
    std::vector<Action> out;
    for (const ScheduleAction& action : actions)
      if (const auto* const found = std::get_if<Action>(&action)) out.push_back(*found);
    return out;
  }
  [[nodiscard]] std::vector<RunTask> runs() const { return all<RunTask>(); }

  Instant now = 0;
  Scheduler scheduler;
  ScheduleActions actions;
};

/// A task without inputs.
[[nodiscard]] inline TaskSpec source(std::uint64_t bytes = 100) {
  return {.output_bytes = {bytes}};
}
[[nodiscard]] inline TaskSpec reader(std::vector<std::uint32_t> inputs, std::uint64_t bytes = 100) {
  return {.inputs = std::move(inputs), .output_bytes = {bytes}};
}

}  // namespace muster::engine
