#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace muster::engine {

/// How one execution is watched and ended from outside. Thread-safe.
class RunControl {
 public:
  using Clock = std::chrono::steady_clock;

  void cancel() noexcept { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }

  /// Set before the run.
  std::optional<Clock::time_point> deadline;
  /// Called from the waiting thread every now and then; it may throw to end the run.
  std::function<void()> on_wait;

  /// Tasks of all stages that are known so far, and those of them that are done.
  std::atomic<std::size_t> tasks = 0;
  std::atomic<std::size_t> done = 0;
  /// Bytes that they made; only told by clusters.
  std::atomic<std::size_t> bytes = 0;

 private:
  std::atomic<bool> cancelled_ = false;
};

}  // namespace muster::engine
