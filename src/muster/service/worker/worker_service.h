#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/service/role.h"
#include "muster/service/worker/worker_python.h"

namespace muster::service {

/// The worker role: keeps chunks in shared memory and on disk, runs the tasks that the scheduler
/// orders, and gives chunks to others. Registers by itself with whatever scheduler is there, also
/// with the next one. Owns its threads. Thread-safe.
class WorkerService {
 public:
  /// Returns when it has met the scheduler.
  [[nodiscard]] static Result<std::unique_ptr<WorkerService>> start(
      const WorkerOptions& options, const MakePython& make_python = pooled_python);
  ~WorkerService();
  WorkerService(const WorkerService&) = delete;
  WorkerService& operator=(const WorkerService&) = delete;

  [[nodiscard]] std::string name() const;
  /// Whether the scheduler has accepted it.
  [[nodiscard]] bool is_registered() const;
  /// False when it has left the group for good: its name was taken, the group refused it, or the
  /// scheduler is of another version.
  [[nodiscard]] bool is_alive() const;
  /// Which of these it was, and what to do; empty while it is alive, and when it was stopped.
  [[nodiscard]] std::string why_gone() const;

  /// Takes no new tasks and hands its data over. `Errc::timeout` where the scheduler does not
  /// release it in time, `Errc::unreachable` where it said that it stops, or says nothing for
  /// `WorkerOptions::absence`, `Errc::closed` where it is not alive: what only the worker has is
  /// lost then. Call `stop` afterwards.
  [[nodiscard]] Result<void> leave(Duration most = std::chrono::seconds(30));
  /// Ends all threads; waits for kernels that run. Idempotent.
  void stop();

  /// Prometheus text; served where the options name a port.
  [[nodiscard]] std::string metrics() const;
  /// Where that is; 0 for nowhere.
  [[nodiscard]] std::uint16_t metrics_port() const;

 private:
  class Impl;
  explicit WorkerService(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::service
