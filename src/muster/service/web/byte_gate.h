#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "muster/base/clock.h"

namespace muster::service {

/// Lets so many bytes at most be on their way at a time; one thing that is larger goes alone.
/// Thread-safe.
class ByteGate {
 public:
  explicit ByteGate(std::size_t limit) : limit_(limit) {}

  /// While it lives, its bytes count.
  class Pass {
   public:
    Pass() = default;
    Pass(ByteGate& gate, std::size_t bytes) : gate_(&gate), bytes_(bytes) {}
    Pass(Pass&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), bytes_(other.bytes_) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave(bytes_);
    }
    [[nodiscard]] explicit operator bool() const { return gate_ != nullptr; }

   private:
    ByteGate* gate_ = nullptr;  ///< outlives the request that holds the pass
    std::size_t bytes_ = 0;
  };

  /// Waits for room; the empty pass at the deadline.
  [[nodiscard]] Pass enter(std::size_t bytes, TimePoint deadline) {
    std::unique_lock lock(mutex_);
    const bool fits = left_.wait_until(lock, deadline, [&] {
      return inside_ == 0 || (bytes <= limit_ && inside_ <= limit_ - bytes);
    });
    if (!fits) return {};
    inside_ += bytes == 0 ? 1 : bytes;
    return {*this, bytes == 0 ? 1 : bytes};
  }

 private:
  void leave(std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    inside_ -= bytes;
    left_.notify_all();
  }

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
};

}  // namespace muster::service
