#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace muster {

using Duration = std::chrono::nanoseconds;

/// A point on the steady clock of one host.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// When a wait ends; nothing means that it ends only with what it waits for.
using Deadline = std::optional<TimePoint>;

/// Where the time comes from. Production code takes a `Clock&`, so that a simulation can own the
/// time.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
};

/// The clock of the machine. Thread-safe.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// So much later; the end of all time where that does not fit, as for `Duration::max()`.
[[nodiscard]] constexpr TimePoint after(TimePoint from, Duration time) {
  const bool fits = from <= TimePoint() || time <= TimePoint::max() - from;
  return fits ? from + time : TimePoint::max();
}

/// When a wait that begins then is over; without a timeout, never.
[[nodiscard]] constexpr TimePoint after_or_never(TimePoint from, std::optional<Duration> timeout) {
  return timeout ? after(from, *timeout) : TimePoint::max();
}

/// The earlier of two deadlines.
[[nodiscard]] inline Deadline earlier(Deadline a, Deadline b) {
  const TimePoint never = TimePoint::max();
  const TimePoint first = std::min(a.value_or(never), b.value_or(never));
  return first == never ? Deadline() : Deadline(first);
}

}  // namespace muster
