#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "muster/cluster/control/job_state.h"
#include "muster/cluster/schedule/planner.h"

namespace muster::cluster {

struct ControlOptions {
  std::string node_name = "localhost";
  Resources node{};                  ///< what jobs may have of this machine
  std::uint32_t parallel_level = 1;  ///< jobs that run at once
};

/// One attempt to run an instance.
struct AttemptRef {
  std::string job{};         ///< its name
  std::size_t instance = 0;  ///< position in `JobState::instances`
  std::uint32_t attempt = 0;

  auto operator<=>(const AttemptRef&) const = default;
};

struct RemovedJob {
  std::string name{};
  std::string id{};
  std::vector<std::string> instances{};
};

/// What follows from events. The changes are to be stored before anything is started, so that a
/// crash in between leaves a trace of what may have been started.
struct ControlActions {
  std::set<std::string> changed_jobs{};
  std::set<std::pair<std::string, std::size_t>> changed_instances{};
  std::vector<RemovedJob> removed{};
  std::vector<AttemptRef> stops{};
  std::vector<AttemptRef> starts{};

  [[nodiscard]] bool empty() const {
    return changed_jobs.empty() && changed_instances.empty() && removed.empty() && stops.empty() &&
           starts.empty();
  }
};

/// Decides what happens to jobs: which start, what a component's end means, when to restart it,
/// when a job is over. Pure: events come in with the time, actions come out, nothing is done here.
/// Not thread-safe.
class Control {
 public:
  explicit Control(ControlOptions options);

  /// A job that was just submitted, or one stored by an earlier agent; one that is known is looked
  /// over. Its running instances are believed to run until an event says otherwise.
  void load(JobState job, std::int64_t now_ms);
  /// Ends a job that is not over. False if there is none of this name.
  bool stop(std::string_view job, std::int64_t now_ms);
  /// The same, and forgets it then.
  bool remove(std::string_view job, std::int64_t now_ms);

  /// An attempt has ended. `log` holds its last lines. Anything but the current attempt is looked
  /// over.
  void ended(const AttemptRef& attempt, const ExitRecord& record, std::vector<std::string> log,
             std::int64_t now_ms);
  /// An attempt was never started and never will be: it does not count.
  void not_started(const AttemptRef& attempt, std::int64_t now_ms);

  void set_parallel_level(std::uint32_t jobs) {
    options_.parallel_level = jobs;
    plan_needed_ = true;
  }

  /// What is due by now, and what can be started.
  [[nodiscard]] ControlActions take_actions(std::int64_t now_ms);
  /// When the next thing is due by itself.
  [[nodiscard]] std::optional<std::int64_t> next_due_ms() const;

  [[nodiscard]] const JobState* find(std::string_view job) const;
  [[nodiscard]] const std::map<std::string, JobState, std::less<>>& jobs() const { return jobs_; }
  [[nodiscard]] std::uint32_t running_jobs() const { return running_jobs_; }
  [[nodiscard]] std::size_t pending_jobs() const { return pending_.size() + hopeless_.size(); }
  [[nodiscard]] const Resources& used() const { return used_; }
  [[nodiscard]] const ControlOptions& options() const { return options_; }

 private:
  struct Timer {
    std::string job;
    std::optional<AttemptRef> attempt;  // nothing: the whole job
  };
  // Those who go first come first: the earlier they count as submitted.
  using PendingKey = std::tuple<std::int64_t, std::int64_t, std::string>;

  [[nodiscard]] static PendingKey pending_key(const JobState& job);
  JobState* job_named(std::string_view job);
  // The instance, if the attempt is its current one and runs.
  InstanceState* current(const AttemptRef& attempt, JobState*& job);

  void plan(std::int64_t now_ms);
  void start_job(JobState& job, std::int64_t now_ms);
  void start_instance(JobState& job, std::size_t position, std::int64_t now_ms);
  // Starts and stops what can be, and finishes the job when nothing is left.
  void settle(JobState& job, std::int64_t now_ms);
  void settle_ending(JobState& job, std::int64_t now_ms);
  void settle_running(JobState& job, std::int64_t now_ms);
  void finish(JobState& job, std::int64_t now_ms);
  void drop(JobState& job);
  void fire(const Timer& timer, std::int64_t now_ms);

  void take_room(const JobState& job, InstanceState& instance, bool assign_gpus);
  void end_instance(JobState& job, std::size_t position, InstancePhase phase, std::int64_t now_ms);
  void changed(const JobState& job, std::size_t position);

  ControlOptions options_;
  std::map<std::string, JobState, std::less<>> jobs_;
  std::set<PendingKey> pending_;
  std::set<std::string> hopeless_;  // pending jobs that this node can never hold: not planned again
  std::multimap<std::int64_t, Timer> timers_;
  std::uint32_t running_jobs_ = 0;
  Resources used_;
  std::uint32_t instances_ = 0;
  std::vector<bool> gpu_taken_;
  bool plan_needed_ = false;
  ControlActions actions_;
};

}  // namespace muster::cluster
