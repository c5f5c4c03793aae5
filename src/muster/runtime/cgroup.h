#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"

namespace muster {

struct CgroupLimits {
  std::optional<double> cpus{};
  std::optional<std::uint64_t> memory_bytes{};
};

/// Where this process may make control groups, of version 1 or 2. A value: making one looks, the
/// groups live in the kernel until they are removed.
class CgroupTree {
 public:
  /// Looks what is mounted and whether we may write there. Never fails: what cannot be enforced is
  /// told by `why_not`.
  [[nodiscard]] static CgroupTree detect();
  /// The same from the texts of /proc/self/mountinfo and /proc/self/cgroup.
  [[nodiscard]] static CgroupTree detect(std::string_view mounts, std::string_view membership);

  [[nodiscard]] bool limits_cpu() const { return !cpu_.empty(); }
  [[nodiscard]] bool limits_memory() const { return !memory_.empty(); }
  /// One sentence when something cannot be enforced; else empty.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Makes a group with those of the limits that can be enforced. Returns its folders, one for each
  /// hierarchy; none when there is nothing to enforce.
  [[nodiscard]] Result<std::vector<std::string>> create(std::string_view name,
                                                        const CgroupLimits& limits) const;
  /// The folders that a group of this name has, or would have.
  [[nodiscard]] std::vector<std::string> folders(std::string_view name) const;

 private:
  std::string cpu_;     // the folder in which groups are made
  std::string memory_;  // the same folder in version 2
  bool unified_ = false;
  std::string why_not_;
};

}  // namespace muster
