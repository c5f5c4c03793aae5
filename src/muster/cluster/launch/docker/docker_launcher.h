#pragma once

#include <memory>
#include <string>

#include "muster/cluster/launch/process/shim_launcher.h"

namespace muster::cluster {

/// Runs components in containers of a Docker engine on this machine. Each has a `muster
/// docker-shim` as its parent program, which does for the container what the shim does for a
/// process.
class DockerLauncher final : public ShimLauncher {
 public:
  /// Without an engine, too: then starting says why not.
  [[nodiscard]] static Result<std::unique_ptr<DockerLauncher>> create();

  [[nodiscard]] std::string limits_note() const override { return {}; }

 private:
  explicit DockerLauncher(Epoll epoll) : ShimLauncher(std::move(epoll)) {}

  Result<SpawnOptions> prepare(const LaunchOrder& order) override;
  void sweep(const LaunchOrder& order) override;
};

}  // namespace muster::cluster
