#include "muster/runtime/futex.h"

#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster {

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline) {
  timespec until{};
  if (deadline) {
    // steady_clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes as an absolute time.
    const auto since = deadline->time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    until.tv_sec = static_cast<time_t>(seconds.count());
    until.tv_nsec = static_cast<long>((since - seconds).count());
    if (since.count() < 0) until = {};
  }
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, deadline ? &until : nullptr, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(const std::atomic<std::uint32_t>& word, int count) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace muster
