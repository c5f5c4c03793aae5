#pragma once

#include <string>
#include <vector>

#include "muster/cluster/control/job_state.h"
#include "muster/cluster/node/layout.h"
#include "muster/cluster/node/machine.h"

namespace muster::cluster {

inline constexpr char kClusterName[] = "process";

/// "NAME=value" of everything that an instance finds beside what the job says: who it is, who its
/// peers are and where they meet, its gpus. `position` is that of the instance in the job.
[[nodiscard]] std::vector<std::string> component_environment(const JobState& job,
                                                             std::size_t position,
                                                             const ClusterLayout& layout,
                                                             const Machine& machine);

/// What a job takes along from the shell in which it was started: where programs and modules are,
/// not what is secret.
[[nodiscard]] std::vector<std::string> carried_environment();

/// Unique for ever: cluster, instance and attempt.
[[nodiscard]] std::string attempt_id(const std::string& cluster_id, const JobState& job,
                                     const InstanceState& instance);

}  // namespace muster::cluster
