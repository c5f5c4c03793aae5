#include "muster/runtime/light_mutex.h"

#include <chrono>

#include "muster/base/clock.h"
#include "muster/runtime/futex.h"
#include "muster/runtime/last_look.h"

namespace muster {
namespace {

// A wake-up that was missed costs this much.
constexpr Duration kLongestSleep = std::chrono::milliseconds(1);

}  // namespace

void LightMutex::wait() {
  const auto takes_it = [this] { return try_lock(); };
  if (last_look(takes_it)) return;
  while (true) {
    const std::uint32_t before = wakes_.load(std::memory_order_acquire);
    waited_for_.store(true, std::memory_order_seq_cst);
    if (last_look(takes_it)) break;
    futex_wait(wakes_, before, SteadyClock().now() + kLongestSleep);
  }
  waited_for_.store(true, std::memory_order_relaxed);
}

void LightMutex::unlock_and_wake() {
  waited_for_.store(false, std::memory_order_relaxed);
  wakes_.fetch_add(1, std::memory_order_release);
  // Whoever takes it now may end it: from here on only its address is used.
  held_.store(0, std::memory_order_release);
  futex_wake(wakes_);
}

}  // namespace muster
