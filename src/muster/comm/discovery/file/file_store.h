#pragma once

#include <filesystem>
#include <memory>

#include "muster/base/result.h"
#include "muster/comm/discovery/file/root.h"
#include "muster/comm/discovery/store.h"

namespace muster::comm {

/// A store for the processes of one user on one host, without a server: a folder per group and a
/// file per peer, described in docs/internals/discovery.md. The entry of a killed process is gone
/// at once; entries of this object are removed with it. `Errc::refused` if the folder is not ours
/// alone.
[[nodiscard]] Result<std::unique_ptr<Store>> make_file_store(
    const std::filesystem::path& root = file::default_root());

}  // namespace muster::comm
