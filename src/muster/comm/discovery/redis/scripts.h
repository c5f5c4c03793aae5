#pragma once

#include <string>

namespace muster::comm::redis {

/// The Lua scripts that change a group in one step. Keys: entries, leases, version, begun; the
/// first argument is always the channel. docs/internals/discovery.md describes the data.

/// Arguments: channel, name, instance, JSON, lease in microseconds, rank ("0" to register). Returns
/// the rank, or "" if the name is taken.
[[nodiscard]] const std::string& put_script();
/// Arguments: channel, name, instance.
[[nodiscard]] const std::string& remove_script();
/// Arguments: channel. Returns the version, when the data began, and the values of all live
/// entries.
[[nodiscard]] const std::string& list_script();
/// Arguments: channel. Returns the version.
[[nodiscard]] const std::string& version_script();

}  // namespace muster::comm::redis
