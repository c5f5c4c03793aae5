#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cluster/control/job_store.h"
#include "muster/cluster/node/agent_lock.h"
#include "muster/cluster/node/layout.h"
#include "muster/cluster/node/settings.h"

namespace muster::cluster {

struct ProcessStatus {
  std::optional<AgentPresence> agent{};
  std::map<std::string, std::string> facts{};  ///< what the agent says about itself
  std::map<JobPhase, std::size_t> jobs{};      ///< how many there are
  std::string redis{};                         ///< its address
};

/// Process mode as those see it who use it: the commands, and programs that start jobs. Calls that
/// need an agent start one when there is none. Thread-safe as `JobStore` is.
class ProcessMode {
 public:
  /// Sets process mode up and starts its agent. `Errc::already_exists` if it is there. Leaves
  /// nothing behind when it fails.
  static Result<void> create(const ClusterLayout& layout, ProcessSettings settings);
  /// `Errc::not_running` if it was not set up.
  [[nodiscard]] static Result<ProcessMode> open(const ClusterLayout& layout);

  [[nodiscard]] const ClusterLayout& layout() const { return layout_; }
  [[nodiscard]] const ProcessSettings& settings() const { return settings_; }

  /// Queues a job; returns its id.
  Result<std::string> start(const JobSpec& spec);
  /// Queues all jobs of a schedule, or none.
  Result<void> start(const ScheduleSpec& schedule);
  /// `Errc::not_found` with a suggestion if there is no such job.
  Result<void> stop(const std::string& job);
  Result<void> remove(const std::string& job);
  Result<void> stop_schedule(const std::string& schedule);
  Result<void> change_setting(const std::string& key, const std::string& value);

  Result<std::vector<JobState>> jobs();
  Result<JobState> job(const std::string& name);
  Result<std::map<std::string, std::vector<std::string>>> schedules();
  Result<ProcessStatus> status();

  /// Returns when a job may have changed since, at the latest when the time is over.
  void wait_for_change(Duration longest);

 private:
  ProcessMode(ClusterLayout layout, ProcessSettings settings);
  Result<void> ensure_agent() const;
  [[nodiscard]] JobState fresh_job(const JobSpec& spec, const std::string& schedule) const;
  Result<void> ask(Ticket::Kind kind, const std::string& job);

  ClusterLayout layout_;
  ProcessSettings settings_;
  std::unique_ptr<JobStore> store_;
};

/// Ends everything that belongs to process mode and removes all of it: agent, components, what they
/// left, Redis (of the user's own, only our keys), files. Works whatever state it is in.
Result<void> delete_process_mode(const ClusterLayout& layout);

}  // namespace muster::cluster
