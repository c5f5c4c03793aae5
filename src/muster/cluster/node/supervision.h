#pragma once

#include <optional>
#include <sys/types.h>

#include "muster/base/clock.h"
#include "muster/cluster/node/layout.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {

/// The agent's eye on its supervisor: one that was killed is replaced, so that an agent that is
/// killed later still comes back. Only from the agent's thread.
class Supervision {
 public:
  /// Without a supervisor (0) there is nothing to watch.
  Supervision(ClusterLayout layout, pid_t supervisor);

  /// Ready when `look` has something to do; negative when there is nothing to wait for.
  [[nodiscard]] int fd() const;
  void look();

 private:
  [[nodiscard]] bool lives();

  const ClusterLayout layout_;
  FileDescriptor first_;               // the one that started this agent
  std::optional<ChildProcess> later_;  // one that this agent started
  TimePoint not_before_{};             // a supervisor that dies at once is not started in a loop
};

}  // namespace muster::cluster
