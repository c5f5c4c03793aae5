#pragma once

#include <memory>

#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"

namespace muster::comm {

/// Hands messages to proxies of the same process. Nothing is encoded or copied: the receiver gets
/// the sender's buffers.
[[nodiscard]] Result<std::unique_ptr<Driver>> make_inproc_driver(const DriverContext& context);

}  // namespace muster::comm
