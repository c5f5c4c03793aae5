#include "muster/runtime/resources.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sched.h>
#include <sstream>
#include <sys/sysinfo.h>
#include <thread>

#include "muster/runtime/file_text.h"

namespace muster {
namespace {

/// The number in a file that holds only one; nothing for "max" and for what cannot be read.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  const std::string text = file_text(file.string());
  std::uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

void lower(std::optional<std::uint64_t>& limit, std::optional<std::uint64_t> other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

}  // namespace

std::size_t usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::optional<std::uint64_t> memory_limit(std::string_view membership, const std::string& root) {
  std::optional<std::uint64_t> limit;
  std::istringstream lines{std::string(membership)};
  for (std::string line; std::getline(lines, line);) {
    // "4:memory,hugetlb:/docker/7f" in version 1, "0::/user.slice" in version 2.
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = kinds == ",,";
    if (!unified && kinds.find(",memory,") == std::string::npos) continue;
    const std::filesystem::path mount = unified ? root : root + "/memory";
    const char* const file = unified ? "memory.max" : "memory.limit_in_bytes";
    // In a container the group may be mounted as the root itself.
    lower(limit, number_in(mount / file));
    std::filesystem::path group = mount;
    for (const auto& part : std::filesystem::path(line.substr(second + 1)).relative_path())
      lower(limit, number_in((group /= part) / file));
  }
  return limit;
}

std::uint64_t usable_memory() {
  struct sysinfo info{};
  std::uint64_t memory = 0;
  if (::sysinfo(&info) == 0) memory = static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
  const auto limit = memory_limit(file_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  return limit ? std::min(*limit, memory) : memory;
}

}  // namespace muster
