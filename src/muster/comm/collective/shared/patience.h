#pragma once

#include <cstddef>
#include <cstdint>
#include <sched.h>

#include "muster/base/clock.h"

namespace muster::comm::collective::shared {

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // takes about as long as a pause there; yield takes no time
#endif
}

/// How a call waits for others: first it watches memory, as long as every rank can have a core of
/// its own; then it lets other threads run between two looks; then it sleeps. Waking a sleeper
/// costs a hundred times what a look costs, so sleep comes late.
class Patience {
 public:
  explicit Patience(bool crowded)
      : spins_(crowded ? kCrowdedSpins : kSpins), yields_(crowded ? kCrowdedYields : kYields) {
    renew();
  }

  /// What was waited for has come, and the next wait begins.
  void renew() {
    spins_left_ = spins_;
    yields_left_ = yields_;
  }

  /// Waits a moment; false when it is time to sleep. `for_neighbour`: for a thread that can run
  /// only when this one does not.
  bool pause(bool for_neighbour = false) {
    ++pauses_;
    if (spins_left_ > 0 && !for_neighbour) {
      --spins_left_;
      pause_cpu();
      return true;
    }
    if (yields_left_ == 0) return false;
    --yields_left_;
    ::sched_yield();
    return true;
  }
  /// True now and then: when it is time to look at the clock and at what is rare.
  [[nodiscard]] bool looks_around() const {
    return (spins_left_ == 0 && yields_left_ % 16 == 0) || pauses_ % kLookEvery == 0;
  }

 private:
  // About 50 µs of pauses, 1 µs when there are more ranks than cores.
  static constexpr std::uint32_t kSpins = 1200;
  static constexpr std::uint32_t kCrowdedSpins = 25;
  // About 100 µs when nobody else wants to run.
  static constexpr std::uint32_t kYields = 256;
  // Where a neighbour can run, it does so at the first. To one of another session the kernel does
  // not yield, and only sleep lets it run.
  static constexpr std::uint32_t kCrowdedYields = 8;

  // For who never waits long, and yet for a long time: some 100 µs.
  static constexpr std::uint32_t kLookEvery = 4096;

  std::uint32_t spins_;
  std::uint32_t yields_;
  std::uint32_t spins_left_ = 0;
  std::uint32_t yields_left_ = 0;
  std::uint32_t pauses_ = 0;
};

}  // namespace muster::comm::collective::shared
