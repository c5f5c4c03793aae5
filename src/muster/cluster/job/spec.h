#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster/job/resources.h"

namespace muster::cluster {

// What a job description says, checked and with the defaults filled in. read.h makes these from
// YAML, json.h stores them. A field's comment names the key of the description where they differ.

/// A folder of the host, or of the cluster's data share, seen inside a container.
struct MountSpec {
  std::string source;  ///< empty: the cluster's data share
  std::string target;  ///< where the component finds it; an absolute path
  bool read_only = false;

  friend bool operator==(const MountSpec&, const MountSpec&) = default;
};

enum class RestartPolicy { never, on_failure, always };

/// What happens when an instance ends. Exit status 64 never restarts and 65 ends the whole job,
/// whatever stands here.
struct RestartSpec {
  RestartPolicy policy = RestartPolicy::never;
  std::uint32_t max = 5;                    ///< restarts of one instance, over its whole life
  std::chrono::milliseconds backoff{1000};  ///< before the first restart; doubles with each

  friend bool operator==(const RestartSpec&, const RestartSpec&) = default;
};

/// What has to be true of another component before this one starts.
enum class DependsUntil { started, succeeded };

struct Dependency {
  std::string component;
  DependsUntil until = DependsUntil::started;

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

struct LogSpec {
  std::uint64_t max_size = 10u << 20;  ///< bytes of a file before it is rotated
  std::uint32_t keep = 3;              ///< rotated files kept beside the current one

  friend bool operator==(const LogSpec&, const LogSpec&) = default;
};

/// One kind of component of a job; `num` instances of it run.
struct ComponentSpec {
  std::string name;  ///< the key under `components`: COMPONENT_TYPE of its instances
  std::uint32_t num = 1;
  /// Program and arguments. With `shell`, a single text for `/bin/sh -c`.
  std::vector<std::string> command;
  bool shell = false;
  std::string image;              ///< empty: a plain process
  std::vector<MountSpec> mounts;  ///< `mount`
  Resources resources;            ///< of one instance; zero is neither reserved nor limited
  std::map<std::string, std::string> env;
  std::string working_dir;  ///< absolute for a process of this machine; empty: the image's own
  RestartSpec restart;
  std::vector<Dependency> depends_on;
  std::optional<std::chrono::milliseconds> timeout;  ///< of one life of an instance
  LogSpec logs;

  /// What to execute: `command`, or the shell with it.
  [[nodiscard]] std::vector<std::string> argv() const;

  friend bool operator==(const ComponentSpec&, const ComponentSpec&) = default;
};

enum class AllocationMode { balanced, compacted };

/// How the instances spread over nodes: where most of the metric is free, or where least is.
struct Allocation {
  AllocationMode mode = AllocationMode::balanced;  ///< `single-metric-balanced`, `…-compacted`
  Metric metric = Metric::cpu;

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct JobSpec {
  std::string name;
  std::string mode = "process";           ///< as written: `process`, `grass/on-premises`, `k8s`, …
  std::vector<ComponentSpec> components;  ///< in the order of the file; never empty
  Allocation allocation;
  std::int32_t priority = 0;  ///< higher goes first; -1000 to 1000
  std::map<std::string, std::string> labels;
  std::optional<std::chrono::milliseconds> timeout;  ///< of the whole job, from its start

  [[nodiscard]] const ComponentSpec* component(std::string_view name) const;
  /// How many instances there are in all.
  [[nodiscard]] std::uint32_t instances() const;
  /// The names of the components, each after those that it depends on, otherwise as in the file.
  [[nodiscard]] std::vector<std::string> start_order() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// Several jobs that differ in nothing but their names.
struct ScheduleSpec {
  std::string name;
  std::vector<std::string> job_names;
  JobSpec job;  ///< its name is that of the schedule

  /// The jobs under their own names, in order.
  [[nodiscard]] std::vector<JobSpec> jobs() const;

  friend bool operator==(const ScheduleSpec&, const ScheduleSpec&) = default;
};

}  // namespace muster::cluster
