#pragma once

#include <memory>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/shm/options.h"

namespace muster::comm {

/// Moves messages between processes of one user on one host through shared memory. See README.md
/// here.
[[nodiscard]] Result<std::unique_ptr<Driver>> make_shm_driver(DriverContext context,
                                                              ShmOptions options = {});

}  // namespace muster::comm
