#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/redis/redis_address.h"
#include "muster/net/redis/redis_reply.h"
#include "muster/runtime/fd.h"

struct redisReader;

namespace muster::net {

/// One connection to a Redis server, logged in. The protocol is hiredis's, the socket is ours:
/// hiredis 0.14 writes with write(2), which raises SIGPIPE when the server is gone, and its
/// timeouts hold for each read rather than for the whole call. After a failure other than
/// `server_error` it is out of step and must be dropped. Not thread-safe.
class RedisConnection {
 public:
  /// Connects, sends AUTH and SELECT where the address asks for it.
  [[nodiscard]] static Result<RedisConnection> open(const RedisAddress& address,
                                                    TimePoint deadline);

  Result<void> send(std::span<const std::string_view> words, TimePoint deadline);

  /// The next answer, also if it is an error.
  Result<RedisReply> receive(TimePoint deadline);

  /// An answer that has come already, without waiting.
  Result<std::optional<RedisReply>> receive_buffered();

  /// Sends and receives; an error that the server answers becomes `server_error` or `auth`.
  Result<RedisReply> call(std::span<const std::string_view> words, TimePoint deadline);

  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  explicit RedisConnection(FileDescriptor socket);
  Result<void> log_in(const RedisAddress& address, TimePoint deadline);

  FileDescriptor socket_;
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace muster::net
