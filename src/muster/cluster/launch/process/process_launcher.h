#pragma once

#include <memory>
#include <string>

#include "muster/cluster/launch/process/shim_launcher.h"
#include "muster/runtime/cgroup.h"

namespace muster::cluster {

/// Runs components as processes of this machine.
class ProcessLauncher final : public ShimLauncher {
 public:
  /// Fails when the shim program is not there.
  [[nodiscard]] static Result<std::unique_ptr<ProcessLauncher>> create();

  [[nodiscard]] std::string limits_note() const override;

 private:
  ProcessLauncher(Epoll epoll, std::string shim, CgroupTree cgroups)
      : ShimLauncher(std::move(epoll)), shim_(std::move(shim)), cgroups_(std::move(cgroups)) {}

  Result<SpawnOptions> prepare(const LaunchOrder& order) override;
  void sweep(const LaunchOrder& order) override;

  const std::string shim_;
  const CgroupTree cgroups_;
};

}  // namespace muster::cluster
