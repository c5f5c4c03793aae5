#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "muster/cli/doctor/check.h"

namespace muster::cli {

// What the machine and its folders allow.

/// Whether limits of cpu and memory can be enforced.
Check check_cgroups();

/// Shared memory: there, writable, and with room for messages.
Check check_shared_memory(const std::filesystem::path& folder);

/// Room for logs and state.
Check check_disk(const std::filesystem::path& folder);

/// Enough open files for many peers.
Check check_open_files();

/// Others can read nothing in the folder (a few levels deep): keys and passwords may be there.
Check check_private(std::string name, const std::filesystem::path& folder);

}  // namespace muster::cli
