#pragma once

#include <string>

#include "muster/cli/command.h"
#include "muster/cluster/node/process_mode.h"

namespace muster::cli {

/// Shows how a job goes on, each component by itself, until it is over; a failure with its last
/// lines. On a terminal the lines are renewed in place, elsewhere a line is written for each
/// change. Returns the exit code of the job. Ctrl-C ends the waiting, not the job.
int follow_job(cluster::ProcessMode& mode, const std::string& name, const Io& io);

enum class Until { over, gone };

/// Waits for the end of a job; says so if that takes too long. Returns the exit status.
int await_end(cluster::ProcessMode& mode, const std::string& name, Until until, const Io& io);

}  // namespace muster::cli
