#pragma once

#include <chrono>
#include <memory>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/store.h"
#include "muster/net/redis/redis_address.h"

namespace muster::comm {

struct RedisStoreOptions {
  /// How long a call may take before it is `Errc::store_unreachable`.
  Duration timeout = std::chrono::seconds(2);
  /// How often a wait looks for itself, because leases end without a message.
  Duration look = std::chrono::milliseconds(500);
};

/// A store for processes on many hosts: a Redis server (5 or later), whose clock judges the leases.
/// The data are described in docs/internals/discovery.md. A server that is away is not an error
/// here, it may come; one that refuses the password is
/// (`Errc::refused`). Later calls are `Errc::store_unreachable` whatever the server's reason.
[[nodiscard]] Result<std::unique_ptr<Store>> make_redis_store(net::RedisAddress address,
                                                              RedisStoreOptions options = {});

}  // namespace muster::comm
