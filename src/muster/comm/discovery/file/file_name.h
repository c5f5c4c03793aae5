#pragma once

#include <string>
#include <string_view>

#include "muster/comm/message/ids.h"

namespace muster::comm::file {

/// A file name for any text: letters, digits, '_' and '-' stand for themselves, other bytes become
/// %XX, and a long text is cut and ends in '~' and a hash. Never empty, never with a dot, short
/// enough for what `entry_file` adds.
[[nodiscard]] std::string encode(std::string_view text);

/// What all files of one peer begin with.
[[nodiscard]] std::string peer_prefix(std::string_view name);

/// A name that no file had before: what is found under it once is the same file for ever, so that
/// removing it by name is safe.
[[nodiscard]] std::string fresh_file(std::string_view name, InstanceId instance);

}  // namespace muster::comm::file
