#pragma once

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

/// Python's timeouts: milliseconds; None or a negative number waits as long as it takes.
[[nodiscard]] inline std::optional<Duration> from_milliseconds(std::optional<double> milliseconds) {
  // Longer than a century means for ever, and does not fit a Duration.
  constexpr double kForEver = 3e12;
  if (milliseconds && std::isnan(*milliseconds))
    throw nb::value_error("a timeout is a number of milliseconds or None, not nan");
  if (!milliseconds || *milliseconds < 0 || *milliseconds > kForEver) return std::nullopt;
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::milli>(*milliseconds));
}

}  // namespace muster::python
