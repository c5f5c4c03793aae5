#pragma once

#include <string>

#include "muster/base/result.h"

namespace muster::cluster {

/// The path of the shim program: $MUSTER_SHIM, else `muster-shim` next to this program. A failure
/// says where it was looked for.
[[nodiscard]] Result<std::string> shim_program();

/// The `muster` program: $MUSTER_PROGRAM, else this program if it is `muster`, else the one next to
/// it.
[[nodiscard]] std::string muster_program();

}  // namespace muster::cluster
