#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "muster/net/redis/redis_address.h"
#include "muster/net/redis/redis_connection.h"

namespace muster::cluster {

/// Tells when there are tickets, without polling: a connection that waits in BLMOVE, which moves
/// the next one to the list of those taken. Which one that was is read from there. Not thread-safe.
class TicketBell {
 public:
  TicketBell(net::RedisAddress address, std::string tickets, std::string taken)
      : address_(std::move(address)), tickets_(std::move(tickets)), taken_(std::move(taken)) {}

  /// Begins to wait, if it does not already, for at most so long. False when Redis cannot be
  /// reached.
  bool arm(std::chrono::milliseconds longest);
  /// Readable when it rings, or when the connection is lost; -1 while it is not armed.
  [[nodiscard]] int fd() const { return armed_ ? connection_->socket().get() : -1; }
  /// After it rang. False when the connection is lost.
  bool answer();

 private:
  const net::RedisAddress address_;
  const std::string tickets_;
  const std::string taken_;
  std::optional<net::RedisConnection> connection_;
  bool armed_ = false;
};

}  // namespace muster::cluster
