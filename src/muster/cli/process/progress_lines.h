#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/cluster/control/job_state.h"

namespace muster::cli {

/// How a job stands: a line for the job and one for each of its components. Of more than `most`
/// lines (0: any number) those are left out that tell least, first what has succeeded and then
/// what waits; a last line says how many and how they are.
[[nodiscard]] std::vector<std::string> progress_lines(const cluster::JobState& job, bool colour,
                                                      std::size_t most = 0);

}  // namespace muster::cli
