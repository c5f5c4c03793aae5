#pragma once

#include <memory>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/zmq/options.h"

namespace muster::comm {

/// Moves messages between processes on any hosts through ZeroMQ over TCP or unix sockets. See
/// README.md here.
[[nodiscard]] Result<std::unique_ptr<Driver>> make_zmq_driver(DriverContext context,
                                                              ZmqOptions options = {});

}  // namespace muster::comm
