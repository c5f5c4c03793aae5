#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::net {

/// Where a Redis server is and how to log in.
struct RedisAddress {
  std::string host{};  ///< empty when `unix_path` is set
  std::uint16_t port = 6379;
  std::string unix_path{};
  std::string user{};  ///< empty for the default user
  std::string password{};
  int db = 0;

  bool operator==(const RedisAddress&) const = default;

  /// "redis://127.0.0.1:6379/0", "redis+unix:///run/redis.sock?db=0": without user and password.
  [[nodiscard]] std::string description() const;

  /// Reads `redis://[[user]:password@]host[:port][/db]`,
  /// `redis+unix:///path[?db=0&user=…&password=…]` (or `unix://`) and `host:port`; %XX stands for a
  /// byte. `Errc::invalid_address` says which part is wrong, and quotes none, as a slip of the pen
  /// could make any part of the password.
  [[nodiscard]] static Result<RedisAddress> parse(std::string_view text);
};

}  // namespace muster::net
