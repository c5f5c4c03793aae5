#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::engine {

/// Threads that run one function together, again and again. Thread-safe; runs do not overlap: a
/// second one waits for the first.
class ThreadPool {
 public:
  explicit ThreadPool(std::size_t threads);
  /// Waits for a run to end.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const { return threads_.size(); }

  /// Calls `work(number)` in every thread, with their numbers, and `wait()` in this one until all
  /// have returned: it sleeps for a while and returns. `work` must not throw.
  void run(const std::function<void(std::size_t)>& work, const std::function<void()>& wait);

 private:
  void serve(std::size_t number, const std::stop_token& stop);

  std::mutex runs_;  ///< held while a run lasts
  std::mutex mutex_;
  std::condition_variable_any changed_;
  const std::function<void(std::size_t)>* work_ =
      nullptr;  ///< of the run that lasts; `mutex_` must be held
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace muster::engine
