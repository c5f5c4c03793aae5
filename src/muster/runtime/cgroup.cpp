#include "muster/runtime/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/runtime/cgroup_folder.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/file_text.h"

namespace muster {
namespace {

constexpr int kPeriodMicroseconds = 100'000;
constexpr int kLeastQuotaMicroseconds = 1'000;  // the kernel refuses less

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(text)};
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<void> write_file(const std::string& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) {
    return fail(system_error(errno, fmt::format("write '{}' to '{}'", text, path)));
  }
  return {};
}

struct Mount {
  std::string root;
  std::string point;
  bool unified = false;
  std::vector<std::string> controllers;  // of version 1
};

// A line is "36 35 98:0 /root /point options [more...] - type source options".
std::vector<Mount> cgroup_mounts(std::string_view mounts) {
  std::vector<Mount> found;
  for (const auto& line : words_of(mounts, '\n')) {
    const auto words = words_of(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || std::distance(dash, words.end()) < 4) continue;
    const std::string& type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    found.push_back({.root = words[3],
                     .point = words[4],
                     .unified = type == "cgroup2",
                     .controllers = words_of(dash[3], ',')});
  }
  return found;
}

// A line is "4:memory:/path", of version 2 "0::/path".
std::string own_path(std::string_view membership, std::string_view controller) {
  for (const auto& line : words_of(membership, '\n')) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto names = words_of(line.substr(first + 1, second - first - 1), ',');
    const bool mine = controller.empty() ? names.empty() || names.front().empty()
                                         : std::ranges::find(names, controller) != names.end();
    if (mine) return line.substr(second + 1);
  }
  return "/";
}

// A group there has this file; in version 2 only after the controller was handed down to it.
bool usable(const std::string& folder, const std::string& file, const std::string& controller) {
  const std::string probe = fmt::format("{}/muster-probe-{}", folder, ::getpid());
  if (::mkdir(probe.c_str(), 0755) != 0) return false;
  if (!exists(probe + "/" + file)) {
    (void)write_file(folder + "/cgroup.subtree_control", "+" + controller);
  }
  const bool there = ::access((probe + "/" + file).c_str(), W_OK) == 0 &&
                     ::access((probe + "/cgroup.procs").c_str(), W_OK) == 0;
  ::rmdir(probe.c_str());
  return there;
}

// The nearest folder from our own group upwards in which groups can be made. In version 2 our own
// holds processes, so its parent is the first that can be.
std::string place_for(const Mount& mount, std::string path, const std::string& file,
                      const std::string& controller) {
  if (mount.root != "/" && path.starts_with(mount.root)) path.erase(0, mount.root.size());
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    if (const std::string folder = mount.point + path; usable(folder, file, controller)) {
      return folder;
    }
    if (path.empty()) return {};
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

std::string place_for(const std::vector<Mount>& mounts, std::string_view membership, bool unified,
                      const std::string& controller, const std::string& file) {
  for (const Mount& mount : mounts) {
    if (mount.unified != unified) continue;
    if (!unified && std::ranges::find(mount.controllers, controller) == mount.controllers.end())
      continue;
    const std::string path = own_path(membership, unified ? std::string_view() : controller);
    if (std::string folder = place_for(mount, path, file, controller); !folder.empty())
      return folder;
  }
  return {};
}

Result<void> limit_cpu(const std::string& folder, bool unified, double cpus) {
  const long quota =
      std::max<long>(std::lround(cpus * kPeriodMicroseconds), kLeastQuotaMicroseconds);
  if (unified) {
    return write_file(folder + "/cpu.max", fmt::format("{} {}", quota, kPeriodMicroseconds));
  }
  (void)write_file(folder + "/cpu.cfs_period_us", std::to_string(kPeriodMicroseconds));
  return write_file(folder + "/cpu.cfs_quota_us", std::to_string(quota));
}

// Swap would let a component grow far beyond its limit, slowly; where the kernel counts it, there
// is none.
Result<void> limit_memory(const std::string& folder, bool unified, std::uint64_t bytes) {
  const std::string text = std::to_string(bytes);
  auto limited = write_file(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"), text);
  if (unified) {
    (void)write_file(folder + "/memory.swap.max", "0");
  } else {
    (void)write_file(folder + "/memory.memsw.limit_in_bytes", text);
  }
  return limited;
}

Result<std::string> make_group(const std::string& parent, std::string_view name) {
  std::string folder = fmt::format("{}/{}", parent, name);
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail(system_error(errno, fmt::format("make the control group '{}'", folder)));
  }
  return folder;
}

}  // namespace

CgroupTree CgroupTree::detect() {
  return detect(file_text("/proc/self/mountinfo"), file_text("/proc/self/cgroup"));
}

CgroupTree CgroupTree::detect(std::string_view mounts, std::string_view membership) {
  const auto found = cgroup_mounts(mounts);
  CgroupTree tree;
  tree.memory_ = place_for(found, membership, true, "memory", "memory.max");
  tree.cpu_ = place_for(found, membership, true, "cpu", "cpu.max");
  tree.unified_ = !tree.memory_.empty() || !tree.cpu_.empty();
  if (!tree.unified_) {
    tree.memory_ = place_for(found, membership, false, "memory", "memory.limit_in_bytes");
    tree.cpu_ = place_for(found, membership, false, "cpu", "cpu.cfs_quota_us");
  }
  if (found.empty()) {
    tree.why_not_ = "no control groups are mounted";
  } else if (tree.memory_.empty() && tree.cpu_.empty()) {
    tree.why_not_ = "control groups cannot be written by this user";
  } else if (tree.memory_.empty() || tree.cpu_.empty()) {
    tree.why_not_ = fmt::format("the {} controller cannot be used by this user",
                                tree.memory_.empty() ? "memory" : "cpu");
  }
  return tree;
}

Result<std::vector<std::string>> CgroupTree::create(std::string_view name,
                                                    const CgroupLimits& limits) const {
  std::vector<std::string> folders;
  const auto undo = [&](const Error& error) {
    for (const auto& folder : folders) remove_cgroup(folder);
    return fail(error);
  };
  const auto place = [&](const std::string& parent) -> Result<std::string> {
    auto folder = make_group(parent, name);
    if (folder && std::ranges::find(folders, *folder) == folders.end()) folders.push_back(*folder);
    return folder;
  };
  if (limits.memory_bytes && limits_memory()) {
    const auto folder = place(memory_);
    if (!folder) return undo(folder.error());
    if (auto done = limit_memory(*folder, unified_, *limits.memory_bytes); !done)
      return undo(done.error());
  }
  if (limits.cpus && limits_cpu()) {
    const auto folder = place(cpu_);
    if (!folder) return undo(folder.error());
    if (auto done = limit_cpu(*folder, unified_, *limits.cpus); !done) return undo(done.error());
  }
  return folders;
}

std::vector<std::string> CgroupTree::folders(std::string_view name) const {
  std::vector<std::string> folders;
  for (const std::string& parent : {memory_, cpu_}) {
    if (!parent.empty()) folders.push_back(fmt::format("{}/{}", parent, name));
  }
  return folders;
}

}  // namespace muster
