#pragma once

#include <memory>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/ucx/options.h"

namespace muster::comm {

/// Moves messages between processes on any hosts over whatever UCX finds: RDMA, shared memory, TCP.
/// See README.md here.
[[nodiscard]] Result<std::unique_ptr<Driver>> make_ucx_driver(DriverContext context,
                                                              UcxOptions options = {});

}  // namespace muster::comm
