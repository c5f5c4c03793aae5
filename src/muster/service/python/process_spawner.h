#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "muster/base/result.h"
#include "muster/runtime/child_process.h"

namespace muster::service {

/// Starts processes from one thread that lives as long as the object: PR_SET_PDEATHSIG ends a
/// process with the thread that started it, and a worker's other threads may come and go.
/// Thread-safe.
class ProcessSpawner {
 public:
  ProcessSpawner();
  ~ProcessSpawner();
  ProcessSpawner(const ProcessSpawner&) = delete;
  ProcessSpawner& operator=(const ProcessSpawner&) = delete;

  [[nodiscard]] Result<ChildProcess> spawn(SpawnOptions options);

 private:
  using Order = std::packaged_task<Result<ChildProcess>()>;
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Order> orders_;
  std::jthread thread_;  ///< last: it uses the others
};

}  // namespace muster::service
