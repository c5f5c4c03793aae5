#pragma once

#include <optional>
#include <string_view>

#include "muster/cluster/job/value.h"

namespace muster::cluster {

// A description is small. These limits keep a hostile one from taking memory or stack.
inline constexpr std::size_t kMaxSpecBytes = 1 << 20;
inline constexpr std::size_t kMaxSpecDepth = 32;
inline constexpr std::size_t kMaxSpecValues = 50'000;  ///< after aliases are replaced

/// Reads one YAML document: anchors, aliases and merge keys (`<<`) are resolved; tags, keys that
/// are no texts, keys that come twice and further documents are problems. Gives what can be checked
/// further in spite of problems (of keys that come twice, the first), or nothing.
std::optional<Value> read_yaml(std::string_view text, Problems& problems);

/// The same for JSON, without lines.
std::optional<Value> read_json(std::string_view text, Problems& problems);

}  // namespace muster::cluster
