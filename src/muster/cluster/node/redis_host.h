#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/cluster/node/layout.h"
#include "muster/cluster/node/settings.h"
#include "muster/runtime/child_process.h"

namespace muster::cluster {

/// The Redis server that process mode uses. One of ours writes each change to its append-only file
/// before it answers, lives in our folder, and outlives the agent that started it. The user's own
/// is only looked for. Not thread-safe.
class RedisHost {
 public:
  RedisHost(ClusterLayout layout, ProcessSettings settings)
      : layout_(std::move(layout)), settings_(std::move(settings)) {}

  /// What would keep it from running, told before anything is started.
  [[nodiscard]] Result<void> check() const;
  /// Answers when it returns. Starts one of ours when none runs.
  Result<void> ensure(TimePoint deadline);
  /// Ends one of ours; what it stored stays.
  void stop();

 private:
  [[nodiscard]] bool answers() const;
  /// Those of ours that run; there should be one.
  [[nodiscard]] std::vector<pid_t> running() const;
  Result<void> start();

  const ClusterLayout layout_;
  const ProcessSettings settings_;
  std::optional<ChildProcess> child_;
};

}  // namespace muster::cluster
