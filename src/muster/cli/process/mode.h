#pragma once

#include <functional>

#include "muster/cli/command.h"
#include "muster/cluster/node/process_mode.h"

namespace muster::cli {

/// Runs a command with process mode as this user has it, or says why there is none.
int with_process_mode(const Io& io, const std::function<int(cluster::ProcessMode&)>& command);

}  // namespace muster::cli
