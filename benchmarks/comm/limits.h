#pragma once

namespace muster::bench {

/// What the machine itself can do: the figures that budgets are stated in.

/// Microseconds of one futex wake-up between two processes: half a round trip, the median.
[[nodiscard]] double futex_wake_up(double seconds);

/// Bytes per second of memcpy from one block of 64 MiB to another.
[[nodiscard]] double memcpy_bandwidth(double seconds);

}  // namespace muster::bench
