#pragma once

#include <atomic>
#include <cstdint>

#include "muster/base/clock.h"

namespace muster {

/// Sleeps while `word` is `expected`, until a wake or the deadline; may return early. The word may
/// lie in memory shared between processes.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Deadline deadline);

/// Wakes up to `count` sleepers.
void futex_wake(const std::atomic<std::uint32_t>& word, int count = 1);

}  // namespace muster
