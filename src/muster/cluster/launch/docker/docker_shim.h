#pragma once

#include <string>

#include "muster/base/result.h"
#include "muster/cluster/launch/launcher.h"

namespace muster::cluster {

inline constexpr char kDockerOrderFile[] = "order.json";

/// Where an order lies for the program that follows it: in the folder of the attempt.
Result<void> write_docker_order(const LaunchOrder& order);

/// Does for a container what the shim does for a process: claims the folder, runs the container of
/// the order there, keeps its output, ends it on SIGTERM, records how it ended and removes it.
/// Returns the exit status. To be called from the main thread of a process that does nothing else.
int run_docker_shim(const std::string& folder);

}  // namespace muster::cluster
