#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "muster/cli/table.h"
#include "muster/cluster/control/job_state.h"

namespace muster::cli {

/// The phase, coloured; "stopping" while it ends.
[[nodiscard]] Cell phase_cell(const cluster::JobState& job);
/// Why it waits, why it failed, or how many of its instances run.
[[nodiscard]] std::string remark(const cluster::JobState& job);
/// "scenario=pendulum team=a".
[[nodiscard]] std::string labels_text(const cluster::JobState& job);
/// "3.2s", "2m10s"; since the start for what still runs; empty for what has not begun.
[[nodiscard]] std::string duration_text(std::int64_t started_ms, std::int64_t ended_ms);
/// "2026-01-31 12:00:00"; empty for 0.
[[nodiscard]] std::string time_of_day(std::int64_t ms);
/// Everything, for programs. `folder` is where the logs are.
[[nodiscard]] nlohmann::ordered_json job_document(const cluster::JobState& job,
                                                  const std::string& folder);
/// What a job ends with for those who wait: 0, the failure's exit code, or 143 if it was stopped.
[[nodiscard]] int exit_code(const cluster::JobState& job);

}  // namespace muster::cli
