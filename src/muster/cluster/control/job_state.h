#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cluster/job/spec.h"
#include "muster/cluster/launch/process/exit_record.h"

namespace muster::cluster {

// What is known of a job that was submitted. Times are milliseconds since 1970, 0 for not yet.

enum class InstancePhase {
  waiting,      ///< for its job, or for what it depends on
  running,      ///< started, or about to be
  backing_off,  ///< until its restart
  succeeded,
  failed,
  stopped,
};

/// One instance of a component.
struct InstanceState {
  std::string component{};
  std::uint32_t index = 0;
  InstancePhase phase = InstancePhase::waiting;
  std::uint32_t attempt = 0;   ///< the last, counted from 1; each has a folder of its own
  std::uint32_t restarts = 0;  ///< that count against the budget
  bool stopping = false;       ///< told to end
  bool timed_out = false;      ///< because it ran too long
  std::vector<std::uint32_t> gpus{};
  std::int64_t started_ms = 0;  ///< the last attempt
  std::int64_t ended_ms = 0;
  std::int64_t restart_at_ms = 0;
  std::optional<ExitRecord> last{};  ///< how the attempt before ended

  bool operator==(const InstanceState&) const = default;

  /// "actor_3": COMPONENT_NAME.
  [[nodiscard]] std::string name() const { return component + "_" + std::to_string(index); }
  /// Nothing runs and nothing will.
  [[nodiscard]] bool final() const { return phase >= InstancePhase::succeeded; }
};

enum class JobPhase { pending, running, succeeded, failed, stopped };

/// Why a job failed.
struct JobFailure {
  std::string instance{};          ///< empty when it is nobody's fault, such as a timeout
  std::string what{};              ///< "exit code 3", "out of memory (…)", "timeout after 5m"
  int exit_code = 1;               ///< what `start --wait` ends with
  std::vector<std::string> log{};  ///< its last lines

  bool operator==(const JobFailure&) const = default;
};

struct JobState {
  std::string id{};
  JobSpec spec{};
  std::string schedule{};                  ///< that it belongs to, if any
  std::string working_dir{};               ///< where it was started from
  std::vector<std::string> environment{};  ///< "NAME=value" from there
  std::int64_t submitted_ms = 0;
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  JobPhase phase = JobPhase::pending;
  std::string reason{};              ///< why it waits
  std::optional<JobPhase> ending{};  ///< what it will be when all its instances have ended
  bool remove = false;               ///< to be forgotten then
  std::optional<JobFailure> failure{};
  std::vector<InstanceState> instances{};  ///< by component as in the spec, then by index

  bool operator==(const JobState&) const = default;

  [[nodiscard]] const std::string& name() const { return spec.name; }
  [[nodiscard]] bool final() const { return phase >= JobPhase::succeeded; }
  [[nodiscard]] InstanceState* instance(std::string_view name);
};

/// Instances as a job has them before anything was started.
[[nodiscard]] std::vector<InstanceState> fresh_instances(const JobSpec& spec);

[[nodiscard]] std::string_view name_of(InstancePhase phase);
[[nodiscard]] std::string_view name_of(JobPhase phase);

}  // namespace muster::cluster
