#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// The processors that this process may run on; at least one.
[[nodiscard]] std::size_t usable_processors();

/// The bytes that this process may use: the machine's memory, or less where its control group or
/// one above it has a limit.
[[nodiscard]] std::uint64_t usable_memory();

/// The lowest memory limit of the control groups that `membership` (the text of /proc/self/cgroup)
/// names and of those above them, of version 1 or 2, mounted below `root`.
[[nodiscard]] std::optional<std::uint64_t> memory_limit(std::string_view membership,
                                                        const std::string& root);

}  // namespace muster
