#pragma once

#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>

namespace muster::comm::collective::shared {

/// A lock that is let go without a fence: what its holder stored for other ranks goes on its way
/// while the holder goes on with its own work. Who finds it held mostly has something better to do;
/// `lock` is for the end of a group, when whoever holds it lets go soon.
class Hold {
 public:
  bool try_lock() {
    std::thread::id nobody;
    return holder_.load(std::memory_order_relaxed) == nobody &&
           holder_.compare_exchange_strong(nobody, std::this_thread::get_id(),
                                           std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Not by the thread that holds it.
  void lock() {
    for (int vain = 0; vain < kYields; ++vain) {
      if (try_lock()) return;
      ::sched_yield();
    }
    // It is in a function of the program.
    while (!try_lock()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  void unlock() { holder_.store({}, std::memory_order_release); }
  /// By this thread: it is inside of what it does with the lock, in a function of the program.
  [[nodiscard]] bool held_here() const {
    return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

 private:
  static constexpr int kYields = 1000;

  std::atomic<std::thread::id> holder_{};
};

}  // namespace muster::comm::collective::shared
