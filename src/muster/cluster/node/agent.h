#pragma once

#include <sys/types.h>

#include "muster/base/result.h"
#include "muster/cluster/node/layout.h"

namespace muster::cluster {

/// How an agent ended.
enum class AgentEnd {
  asked,          ///< by SIGTERM: components go on, the next agent adopts them
  idle,           ///< nothing to do for long, and it need not stay; Redis was stopped, too
  another_lives,  ///< it did nothing
};

/// The life of the agent: takes tickets, starts and stops components, keeps the state of jobs in
/// Redis. One at a time for a folder. It may be killed at any moment: the next one goes on where it
/// was. A supervisor, where there is one, is replaced when it dies. To be called from the main
/// thread.
[[nodiscard]] Result<AgentEnd> run_agent(const ClusterLayout& layout, pid_t supervisor = 0);

}  // namespace muster::cluster
