#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/result.h"
#include "muster/cluster/job/spec.h"
#include "muster/cluster/launch/process/exit_record.h"

namespace muster::cluster {

/// One attempt to run one instance of a component.
struct LaunchOrder {
  std::string id{};      ///< unique for ever; also the value of MUSTER_ATTEMPT in its environment
  std::string folder{};  ///< of this attempt alone; made by `start`
  std::vector<std::string> command{};
  std::vector<std::string> environment{};  ///< "NAME=value", all of it
  std::string working_dir{};
  Resources limits{};  ///< zero does not limit
  LogSpec logs{};
  std::chrono::milliseconds grace = std::chrono::seconds(10);
  std::string image{};
  std::vector<MountSpec> mounts{};
};

struct LaunchEnd {
  std::string folder{};
  ExitRecord record{};
};

enum class Adoption {
  runs,         ///< or has ended: `take_ended` tells
  not_started,  ///< and never will be
};

/// Starts components and watches them until they end. What it starts outlives it: the next launcher
/// adopts it. Attempts are named by their folders. Not thread-safe.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// Returns before the program runs; if it cannot be run, `take_ended` says so.
  virtual Result<void> start(const LaunchOrder& order) = 0;
  /// Takes up an attempt that an earlier launcher was told to start.
  virtual Result<Adoption> adopt(const LaunchOrder& order) = 0;
  /// SIGTERM, then SIGKILL after the grace time. Does nothing when it has ended.
  virtual void stop(const std::string& folder) = 0;

  /// Readable when something has ended.
  [[nodiscard]] virtual int fd() const = 0;
  /// What has ended since the last call, with nothing of it left.
  [[nodiscard]] virtual std::vector<LaunchEnd> take_ended() = 0;

  /// Why limits are not enforced; empty when they are.
  [[nodiscard]] virtual std::string limits_note() const = 0;
};

}  // namespace muster::cluster
