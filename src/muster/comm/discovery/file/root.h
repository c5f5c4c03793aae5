#pragma once

#include <filesystem>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::comm::file {

/// `$MUSTER_RUNTIME_DIR`; else `$XDG_RUNTIME_DIR/muster` where that is a folder of ours; else
/// `/tmp/muster-<uid>`.
[[nodiscard]] std::filesystem::path default_root();

/// Opens the folder, made with mode 0700 if it is absent. `Errc::refused` if it is a symbolic link,
/// belongs to somebody else or lets others in: whoever can write there could pose as a peer, and in
/// /tmp anybody could have made it first.
[[nodiscard]] Result<FileDescriptor> open_root(const std::filesystem::path& root);

}  // namespace muster::comm::file
