#pragma once

#include <atomic>
#include <sched.h>

namespace muster::comm::collective::shared {

/// A lock that is let go without a fence: what its holder stored for other ranks goes on its way
/// while the holder goes on with its own work. Who finds it held mostly has something better to do;
/// `lock` is for the end of a group, when whoever holds it lets go soon.
class Hold {
 public:
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    while (!try_lock()) ::sched_yield();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace muster::comm::collective::shared
