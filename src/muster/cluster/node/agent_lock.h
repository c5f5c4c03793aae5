#pragma once

#include <optional>
#include <sys/types.h>

#include "muster/base/result.h"
#include "muster/cluster/node/layout.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {

/// The lock that the one agent of a folder holds while it lives.
[[nodiscard]] Result<std::optional<FileDescriptor>> take_agent_lock(const ClusterLayout& layout);
/// Says that the agent takes tickets now.
void mark_agent_ready(const FileDescriptor& lock);

/// Says that the agent ends on purpose, and is not to be started again.
void mark_agent_ended(const FileDescriptor& lock);
/// Whether the last agent said so.
[[nodiscard]] bool agent_ended_on_purpose(const ClusterLayout& layout);

struct AgentPresence {
  pid_t pid = 0;
  bool ready = false;
};
/// The agent that lives, if one does.
[[nodiscard]] std::optional<AgentPresence> find_agent(const ClusterLayout& layout);

}  // namespace muster::cluster
