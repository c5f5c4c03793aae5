#pragma once

#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/cluster/job/spec.h"

namespace muster::cluster {

// How descriptions are stored: as JSON with the same keys as in YAML, defaults included, memory in
// bytes and times in seconds. What to_json writes, the readers give back equal. A reader checks as
// strictly as for YAML, because the store may be the user's own.

std::string to_json(const JobSpec& job);
std::string to_json(const ScheduleSpec& schedule);

/// Fails with Errc::invalid_spec, one line per error.
Result<JobSpec> job_from_json(std::string_view text);
Result<ScheduleSpec> schedule_from_json(std::string_view text);

}  // namespace muster::cluster
