#pragma once

#include "muster/base/result.h"
#include "muster/comm/driver/ucx/port.h"

namespace muster::comm {

/// Whether this build has a module for UCX; loading it may still fail.
[[nodiscard]] bool ucx_built();

/// The module's function. Loads the module, and with it libucx, when it is called for the first
/// time. `Errc::driver_type` says what is missing.
[[nodiscard]] Result<UcxOpen> load_ucx();

}  // namespace muster::comm
