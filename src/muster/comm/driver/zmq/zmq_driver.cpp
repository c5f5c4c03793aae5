#include "muster/comm/driver/zmq/zmq_driver.h"

#include <utility>

#include "muster/comm/driver/zmq/zmq_transport.h"
#include "muster/comm/link/link_driver.h"

namespace muster::comm {

Result<std::unique_ptr<Driver>> make_zmq_driver(DriverContext context, ZmqOptions options) {
  auto transport = ZmqTransport::open(context.security, context.lease, options);
  if (!transport) return fail(transport.error());
  const LinkOptions link = LinkOptions::for_watched(context.limits.peer_bytes, context.lease);
  return std::make_unique<LinkDriver>(std::move(context), *std::move(transport), link);
}

}  // namespace muster::comm
