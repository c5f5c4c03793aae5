#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::service {

/// A few threads that do jobs in the order in which they came. Threads begin when they are needed.
/// Thread-safe. Jobs must not throw.
class JobPool {
 public:
  JobPool(std::size_t threads, std::size_t most_jobs) : most_threads_(threads), most_(most_jobs) {}
  ~JobPool() { stop(); }
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;

  /// False when too many wait already, or it was stopped.
  [[nodiscard]] bool post(std::function<void()> job);
  /// Jobs that did not begin are dropped; waits for those that did. Idempotent.
  void stop();

 private:
  void work();

  const std::size_t most_threads_;
  const std::size_t most_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::jthread> threads_;
  std::size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::service
