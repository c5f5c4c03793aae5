#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>

#include "muster/base/clock.h"

namespace muster::comm::collective {

/// While it lives, this thread is inside a function of the program that a call has called. The call
/// holds what other threads may wait for, the calls with its tag or the crew's lock, so the
/// function must not wait for what they hold: it might be for ever.
class Inside {
 public:
  enum class Of : std::uint8_t {
    nothing,
    question,  ///< `GroupOptions::interrupted`: it may call what its own call does not stand in the
               ///< way of
    reduction,  ///< it may close groups, and cancel and let go of calls
  };

  explicit Inside(Of of) : before_(std::exchange(now_, of)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { now_ = before_; }

  /// Whether this thread is.
  [[nodiscard]] static bool any() { return now_ != Of::nothing; }
  [[nodiscard]] static bool reduction() { return now_ == Of::reduction; }
  /// Throws std::logic_error for a call, of this name and group, that is made in a reduction
  /// function.
  static void refuse_in_reduction(std::string_view call, std::string_view group) {
    if (reduction()) [[unlikely]]
      refuse(call, group);
  }
  [[noreturn]] static void refuse(std::string_view call, std::string_view group);
  /// Locks something that other functions may be called under. Inside one, it is not waited for
  /// longer than anybody keeps it who does not wait for this thread: false then.
  template <class Lockable>
  [[nodiscard]] static bool lock(Lockable& lockable) {
    if (!any()) {
      lockable.lock();
      return true;
    }
    const TimePoint end = std::chrono::steady_clock::now() + kPatience;
    while (!lockable.try_lock()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(kMoment);
    }
    return true;
  }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(1);
  static constexpr Duration kMoment = std::chrono::microseconds(100);

  static inline constinit thread_local Of now_ = Of::nothing;
  Of before_;
};

}  // namespace muster::comm::collective
