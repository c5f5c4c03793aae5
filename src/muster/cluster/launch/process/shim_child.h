#pragma once

#include <string>
#include <sys/types.h>

#include "muster/base/result.h"
#include "muster/cluster/launch/process/shim_order.h"

namespace muster::cluster {

/// Starts the program of an order, as leader of a group of its own, in its control groups, dying
/// with us. `output` is what it prints to, or -1 for what we print to. A failure says what could
/// not be done; its code is ENOENT when there is no such program.
[[nodiscard]] Result<pid_t> start_component(const ShimOrder& order, int output);

}  // namespace muster::cluster
