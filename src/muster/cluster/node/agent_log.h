#pragma once

#include <cstdint>

#include "muster/cluster/node/layout.h"

namespace muster::cluster {

inline constexpr std::uintmax_t kLongestAgentLog = std::uintmax_t{1} << 20;

/// Keeps the agent's log short: when it is longer, what is in it moves to `agent.log.1`. Agent and
/// supervisor append to the same file for as long as they live, so it is emptied and not replaced.
void trim_agent_log(const ClusterLayout& layout, std::uintmax_t longest = kLongestAgentLog);

}  // namespace muster::cluster
