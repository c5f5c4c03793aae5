#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "muster/base/clock.h"
#include "muster/comm/discovery/store.h"
#include "muster/comm/driver/context.h"

namespace muster::comm {

/// How long to wait; nothing waits until it happens, zero looks once.
using Timeout = std::optional<Duration>;

/// What happens when a peer goes away and comes back under its name.
struct RejoinOptions {
  bool enabled = false;
  /// How many peers of each type must be there before anything is sent; types that are not named
  /// need one.
  std::map<std::string, std::size_t> minimal_peers;
  /// How long to wait for that many.
  Duration minimal_peers_timeout = std::chrono::seconds(300);
  /// Keep messages for a peer that is away and send them first when it is back.
  bool cache_messages = false;
  /// Per peer; when it is full, sending to that peer is an error.
  std::size_t cache_length = 1024;
  /// How often one name may come back.
  std::size_t max_rejoins = 5;
};

struct ProxyOptions {
  std::string group;
  std::string type;
  /// The peers to wait for when joining, by type. More may come and go later.
  std::map<std::string, std::size_t> expected_peers;
  /// Unique within the group; made from the type when empty.
  std::string name;
  /// "auto" (inproc in one process, shm on one host, zmq between hosts), or one driver for all
  /// peers (also "ucx").
  std::string driver = "auto";
  /// Options of the drivers by name, such as {"zmq.host", "10.0.0.5"}; see docs/reference/proxy.md.
  std::map<std::string, std::string> driver_options;
  /// Where peers find each other: "file:PATH" on one host, "redis://HOST:PORT" between hosts. When
  /// empty, MUSTER_DISCOVERY says it; else a folder of this user.
  std::string discovery;
  /// Instead of `discovery`: a store that the caller made.
  std::shared_ptr<Store> store;
  Duration join_timeout = std::chrono::seconds(100);
  /// How long of that the discovery store may be unreachable before joining fails.
  Duration store_timeout = std::chrono::seconds(100);
  /// How long a peer may be silent before it counts as lost. Processes that die on this host are
  /// noticed at once.
  Duration lease = std::chrono::seconds(3);
  /// How long `close` waits until what was sent has arrived.
  Duration linger = std::chrono::seconds(2);
  /// How long a send waits for room in a full queue before it fails with `Errc::would_block`.
  Duration send_timeout = std::chrono::seconds(60);
  /// The longest time that a waiting thread watches memory before it sleeps; less when that turns
  /// out not to pay.
  Duration max_spin = std::chrono::microseconds(50);
  /// Asked about ten times a second, without a lock, by threads that wait in a call: true ends the
  /// call with `Errc::interrupted`. For programs whose signal handlers must not wait for a message.
  std::function<bool()> interrupted;
  RejoinOptions rejoin;
  QueueLimits limits;
  /// The secret comes from MUSTER_SECRET when it is empty here.
  Security security;
};

}  // namespace muster::comm
