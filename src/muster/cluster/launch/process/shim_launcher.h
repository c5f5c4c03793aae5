#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "muster/cluster/launch/launcher.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/epoll.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {

/// What launchers have in common whose components each have a program of ours as parent, which
/// claims the attempt's folder, keeps its log and leaves an exit record there. The program is told
/// to end its component by SIGTERM.
class ShimLauncher : public Launcher {
 public:
  Result<void> start(const LaunchOrder& order) final;
  Result<Adoption> adopt(const LaunchOrder& order) final;
  void stop(const std::string& folder) final;
  [[nodiscard]] int fd() const final { return epoll_.fd(); }
  [[nodiscard]] std::vector<LaunchEnd> take_ended() final;

 protected:
  explicit ShimLauncher(Epoll epoll) : epoll_(std::move(epoll)) {}

  /// How to start the parent program for an order.
  [[nodiscard]] virtual Result<SpawnOptions> prepare(const LaunchOrder& order) = 0;
  /// Ends what an attempt left behind whose parent program is gone without a record.
  virtual void sweep(const LaunchOrder& order) = 0;

 private:
  struct Watched {
    LaunchOrder order;
    std::optional<ChildProcess> child;  // when we started it ourselves
    FileDescriptor pidfd;               // else
  };

  Result<void> watch(Watched watched);
  [[nodiscard]] ExitRecord end_of(Watched& watched);

  Epoll epoll_;
  std::uint64_t next_key_ = 1;
  std::unordered_map<std::uint64_t, Watched> watched_;
  std::unordered_map<std::string, std::uint64_t> keys_;  // by folder
  std::vector<LaunchEnd> ended_;
};

}  // namespace muster::cluster
