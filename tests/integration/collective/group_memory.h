#pragma once

#include <cstdint>
#include <set>
#include <string_view>

namespace muster::comm {

/// The memory files of groups that this process has mapped or open, by inode. They have no names in
/// /dev/shm: they are there as long as a process has them.
[[nodiscard]] std::set<std::uint64_t> group_memory();

/// Every memory file of Muster that this process has mapped or open, as many as there are.
[[nodiscard]] std::set<std::uint64_t> memory_files(std::string_view label);

/// Waits until `group_memory` is as expected; false after ten seconds. The thread in the background
/// lets go of a group a moment after its owner.
[[nodiscard]] bool group_memory_becomes(const std::set<std::uint64_t>& expected);

}  // namespace muster::comm
