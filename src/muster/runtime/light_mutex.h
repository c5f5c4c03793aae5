#pragma once

#include <atomic>
#include <cstdint>

namespace muster {

/// A mutex for short sections that are seldom contended: taking it is one atomic exchange, giving
/// it back one store. std::mutex needs a second atomic operation for that, and each of them waits
/// until all that was written before is in the cache: long, when it was a message in a ring that
/// another core reads. Meets Lockable; as unfair as std::mutex.
///
/// Whoever waits says so and looks for some microseconds more before it sleeps: a store by which
/// the mutex is given back becomes visible meanwhile, so the holder need not make sure that it sees
/// who waits. Should a wake-up be missed all the same, the sleep is short. A holder wakes one, and
/// only once, however long that one takes to run: it says again that it waits when it sleeps again,
/// and when it got the mutex, for others.
class LightMutex {
 public:
  LightMutex() = default;
  LightMutex(const LightMutex&) = delete;
  LightMutex& operator=(const LightMutex&) = delete;

  void lock() {
    if (held_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      wait();
  }
  [[nodiscard]] bool try_lock() {
    return held_.load(std::memory_order_relaxed) == 0 &&
           held_.exchange(1, std::memory_order_acquire) == 0;
  }
  void unlock() {
    if (waited_for_.load(std::memory_order_relaxed)) [[unlikely]]
      return unlock_and_wake();
    held_.store(0, std::memory_order_release);
  }

 private:
  void wait();
  void unlock_and_wake();

  std::atomic<std::uint32_t> held_{0};
  std::atomic<bool> waited_for_{false};
  std::atomic<std::uint32_t> wakes_{0};  // what sleepers sleep on
};

}  // namespace muster
