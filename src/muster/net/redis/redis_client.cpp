#include "muster/net/redis/redis_client.h"

#include "muster/net/errc.h"

namespace muster::net {

Result<RedisReply> RedisClient::command(std::span<const std::string_view> words) {
  const std::lock_guard lock(mutex_);
  const TimePoint deadline = SteadyClock().now() + timeout_;
  const bool may_be_stale = connection_.has_value();
  auto reply = try_once(words, deadline);
  // The server may have been restarted since the last call.
  if (!reply && may_be_stale && reply.error().is(Errc::unreachable))
    reply = try_once(words, deadline);
  if (!reply) return fail(reply.error().within(address_.description()));
  return reply;
}

Result<RedisReply> RedisClient::eval(std::string_view script, std::span<const std::string> keys,
                                     std::span<const std::string> arguments) {
  const std::string key_count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVAL", script, key_count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return command(words);
}

Result<RedisReply> RedisClient::try_once(std::span<const std::string_view> words,
                                         TimePoint deadline) {
  if (!connection_) {
    auto opened = RedisConnection::open(address_, deadline);
    if (!opened) return fail(opened.error());
    connection_ = *std::move(opened);
  }
  auto reply = connection_->call(words, deadline);
  // An answer that comes late would be taken for that of the next command.
  if (!reply && !reply.error().is(Errc::server_error)) connection_.reset();
  return reply;
}

}  // namespace muster::net
