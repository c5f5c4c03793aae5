#pragma once

#include <string>
#include <string_view>

#include "muster/comm/message/ids.h"

namespace muster::comm::file {

/// A file name for any text: letters, digits, '_' and '-' stand for themselves, other bytes become
/// %XX, and a long text is cut and ends in '~' and a hash. Never empty, never with a dot, and short
/// enough for what the functions below add.
[[nodiscard]] std::string encode(std::string_view text);

[[nodiscard]] std::string group_folder_name(std::string_view group);

/// What all files of one peer begin with.
[[nodiscard]] std::string peer_prefix(std::string_view name);

/// A name that no file had before: what is found under it once is the same file for ever, so that
/// removing it by name is safe.
[[nodiscard]] std::string fresh_file(std::string_view name, InstanceId instance);

[[nodiscard]] bool is_group_folder(std::string_view name);

/// Whether a file has the form of those names, also with the leading dot of one that is being
/// written. Others in the folder are not ours to remove.
[[nodiscard]] bool is_entry_file(std::string_view file);

}  // namespace muster::comm::file
