#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace muster {

/// One control group, by its folder. Small on purpose: the program that parents each component uses
/// it, and its start must cost nearly nothing.

/// Whether the kernel has killed something in the group because it used too much memory.
[[nodiscard]] bool cgroup_ran_out_of_memory(const std::string& folder);

/// The processes in it.
[[nodiscard]] std::vector<pid_t> cgroup_processes(const std::string& folder);

/// False while something runs in it.
bool remove_cgroup(const std::string& folder);

}  // namespace muster
