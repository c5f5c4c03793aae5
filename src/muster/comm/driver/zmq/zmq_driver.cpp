#include "muster/comm/driver/zmq/zmq_driver.h"

#include <utility>

#include "muster/comm/driver/zmq/zmq_transport.h"
#include "muster/comm/link/link_driver.h"

namespace muster::comm {

Result<std::unique_ptr<Driver>> make_zmq_driver(DriverContext context, ZmqOptions options) {
  auto transport = ZmqTransport::open(context.security, context.lease, options);
  if (!transport) return fail(transport.error());
  LinkOptions link;
  link.window_bytes = context.limits.peer_bytes;
  link.lease = context.lease;
  link.connected_lease = 10 * context.lease;
  // TCP loses nothing while it is connected, and a reconnect makes the link repeat at once.
  // Repeating earlier would only fill a slow line with what is on its way already.
  link.retransmit_after = link.connected_lease;
  link.retransmit_at_most = link.connected_lease;
  return std::make_unique<LinkDriver>(std::move(context), *std::move(transport), link);
}

}  // namespace muster::comm
