#pragma once

#include <cstddef>
#include <string>

#include "muster/base/clock.h"
#include "muster/comm/discovery/entry.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm {

/// Who may talk. Without a secret nothing listens beyond this host, unless the user insists.
struct Security {
  std::string secret;     ///< empty: none
  bool insecure = false;  ///< allow a non-loopback address without a secret
};

/// Bounds of what one proxy holds for others. When one is reached, senders wait or get an error;
/// nothing is dropped.
struct QueueLimits {
  std::size_t peer_bytes = std::size_t{64}
                           << 20;      ///< on the way to one peer and not yet taken by it
  std::size_t inbox_messages = 65536;  ///< received and not yet taken by the program
  std::size_t inbox_bytes = std::size_t{256} << 20;
};

/// What every driver is made from. The references outlive the driver: the proxy owns them.
struct DriverContext {
  const Entry&
      self;  ///< sent in the handshake; complete with all addresses before the first `connect`
  const std::string& group;
  Doorbell& doorbell;
  const Clock& clock;
  Security security;
  QueueLimits limits;
  Duration lease = std::chrono::seconds(3);  ///< how long a peer may stay silent
};

}  // namespace muster::comm
