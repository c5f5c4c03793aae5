#pragma once

#include <cstdint>

namespace muster {

/// When a process of this pid namespace started, in clock ticks since the boot. With the pid it
/// names one process for ever, because pids are used again. 0 if there is none, or no /proc.
[[nodiscard]] std::uint64_t process_start(std::int64_t pid);

/// Whether the process of that pid and start still runs. A zombie does not.
[[nodiscard]] bool process_runs(std::int64_t pid, std::uint64_t start);

/// Whether somebody has stopped the process, so that it does not go on by itself.
[[nodiscard]] bool process_is_stopped(std::int64_t pid);

}  // namespace muster
