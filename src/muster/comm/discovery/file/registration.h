#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"
#include "muster/comm/discovery/entry.h"

namespace muster::comm::file {

/// What a file in a group's folder holds: an entry, who keeps it alive, and its place among the
/// registrations under one name.
struct Registration {
  std::uint64_t since = 0;    ///< grows from one instance under a name to the next
  std::uint64_t written = 0;  ///< grows from one file of an instance to the next
  std::int64_t pid = 0;
  std::uint64_t start = 0;  ///< see `process_start`
  std::string pid_namespace;
  Entry entry;

  /// "1 <since> <written> <pid> <start> <pid namespace>", a newline, and the entry as JSON.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static Result<Registration> from_text(std::string_view text);

  /// Whether another instance registered after this one.
  [[nodiscard]] bool newer_than(std::uint64_t other_since, InstanceId other) const;
};

/// A registration made by this process, now.
[[nodiscard]] Registration own_registration(const Entry& entry, std::uint64_t since);

}  // namespace muster::comm::file
