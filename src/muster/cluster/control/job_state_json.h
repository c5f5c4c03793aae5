#pragma once

#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/cluster/control/job_state.h"

namespace muster::cluster {

// How states are stored: a job without its instances, and each instance by itself, because they
// change far more often. `Errc::corrupt_state` for what cannot be read back.

[[nodiscard]] std::string to_json(const JobState& job);
[[nodiscard]] std::string to_json(const InstanceState& instance);

[[nodiscard]] Result<JobState> job_state_from_json(std::string_view text);
[[nodiscard]] Result<InstanceState> instance_state_from_json(std::string_view text);

}  // namespace muster::cluster
