#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/redis/redis_address.h"
#include "muster/net/redis/redis_connection.h"
#include "muster/net/redis/redis_reply.h"

namespace muster::net {

/// Commands to a Redis server. Connects when it is first needed and again when the connection was
/// lost; no call takes longer than the timeout (a host name's lookup apart). Thread-safe; calls go
/// one after the other. A command may have been executed although its call failed, and is sent
/// twice if the connection breaks in between: use commands that bear it.
class RedisClient {
 public:
  RedisClient(RedisAddress address, Duration timeout)
      : address_(std::move(address)), timeout_(timeout) {}

  [[nodiscard]] const RedisAddress& address() const { return address_; }

  /// One command, its arguments as any bytes. Messages name the server, never the password.
  Result<RedisReply> command(std::span<const std::string_view> words);
  Result<RedisReply> command(std::initializer_list<std::string_view> words) {
    return command(std::span(words.begin(), words.size()));
  }

  /// Runs a Lua script.
  Result<RedisReply> eval(std::string_view script, std::span<const std::string> keys,
                          std::span<const std::string> arguments);

 private:
  // `mutex_` must be held.
  Result<RedisReply> try_once(std::span<const std::string_view> words, TimePoint deadline);

  const RedisAddress address_;
  const Duration timeout_;
  std::mutex mutex_;
  std::optional<RedisConnection> connection_;
};

}  // namespace muster::net
