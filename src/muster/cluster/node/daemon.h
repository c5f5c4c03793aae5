#pragma once

#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cluster/node/layout.h"
#include "muster/runtime/child_process.h"

namespace muster::cluster {

/// Whether a supervisor begins with an agent that lives already and has lost its own.
enum class Beside : bool { no, yes };

/// Keeps an agent running: starts `program agent --root ROOT`, and again when it dies. Ends when
/// the agent ends on purpose, and ends it on SIGTERM. Takes over the children that dead agents
/// leave. To be called from the main thread of a process that does nothing else.
int supervise_agent(const std::string& program, const ClusterLayout& layout, Beside beside);

/// Starts one in the background.
Result<ChildProcess> start_supervisor(const ClusterLayout& layout, Beside beside);

/// Starts a supervised agent in the background if none lives, and returns when it takes tickets.
Result<void> ensure_agent(const ClusterLayout& layout, TimePoint deadline);

/// Ends agent and supervisor; components go on.
Result<void> stop_agent(const ClusterLayout& layout, TimePoint deadline);

}  // namespace muster::cluster
