#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>

#include "errors.h"
#include "interpreter.h"
#include "muster/base/clock.h"

namespace muster::python {

/// Calls the library with the GIL released, always: a thread that holds a lock of the library may
/// need the GIL to go on.
template <class Call>
auto without_gil(Call&& call) {
  auto result = [&] {
    const nb::gil_scoped_release released;
    return call();
  }();
  do_chores();
  return result;
}

/// The same for a call that may fail.
template <class Call>
auto call_or_raise(Call&& call) {
  return value_or_raise(without_gil(std::forward<Call>(call)));
}

/// Nothing, so for ever, for more than a century, which does not fit a Duration.
[[nodiscard]] inline std::optional<Duration> bounded(std::chrono::duration<double> time) {
  constexpr std::chrono::hours kForEver{24 * 365 * 100};
  if (time > kForEver) return std::nullopt;
  return std::chrono::duration_cast<Duration>(time);
}

/// Timeouts of proxies: milliseconds; None or a negative number waits as long as it takes.
[[nodiscard]] inline std::optional<Duration> from_milliseconds(std::optional<double> milliseconds) {
  if (milliseconds && std::isnan(*milliseconds))
    throw nb::value_error("a timeout is a number of milliseconds or None, not nan");
  if (!milliseconds || *milliseconds < 0) return std::nullopt;
  return bounded(std::chrono::duration<double, std::milli>(*milliseconds));
}

/// Timeouts of groups: seconds; None waits as long as it takes, and a negative number, which is
/// what is left of a deadline that has passed, not at all.
[[nodiscard]] inline std::optional<Duration> from_seconds(std::optional<double> seconds) {
  if (seconds && std::isnan(*seconds))
    throw nb::value_error("a timeout is a number of seconds or None, not nan");
  if (!seconds) return std::nullopt;
  return bounded(std::chrono::duration<double>(std::max(*seconds, 0.0)));
}

}  // namespace muster::python
