#include "muster/net/redis/redis_connection.h"

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "muster/base/clock.h"
#include "muster/net/errc.h"
#include "muster/net/stream_socket.h"

namespace muster::net {
namespace {

constexpr std::chrono::milliseconds kAskAgainAfter{5};

std::string format(std::span<const std::string_view> words) {
  std::string text = fmt::format("*{}\r\n", words.size());
  for (const auto word : words) {
    text += fmt::format("${}\r\n", word.size());
    text += word;
    text += "\r\n";
  }
  return text;
}

RedisReply convert(const redisReply& from) {
  using Kind = RedisReply::Kind;
  RedisReply reply;
  switch (from.type) {
    case REDIS_REPLY_NIL: return reply;
    case REDIS_REPLY_INTEGER:
      reply.kind = Kind::integer;
      reply.integer = from.integer;
      return reply;
    case REDIS_REPLY_STATUS: reply.kind = Kind::status; break;
    case REDIS_REPLY_ERROR: reply.kind = Kind::error; break;
    case REDIS_REPLY_STRING: reply.kind = Kind::text; break;
    default: reply.kind = Kind::array; break;
  }
  if (reply.kind == Kind::array) {
    for (std::size_t i = 0; i < from.elements; ++i)
      reply.elements.push_back(convert(*from.element[i]));
  } else {
    reply.text.assign(from.str, from.len);
  }
  return reply;
}

tl::unexpected<Error> refused(std::string_view command, const std::string& text) {
  const bool auth =
      command == "AUTH" || text.starts_with("NOAUTH") || text.starts_with("WRONGPASS");
  return fail(auth ? Errc::auth : Errc::server_error,
              fmt::format("{}: the server answered '{}'", command, text));
}

}  // namespace

void RedisConnection::FreeReader::operator()(redisReader* reader) const {
  ::redisReaderFree(reader);
}

RedisConnection::RedisConnection(FileDescriptor socket)
    : socket_(std::move(socket)), reader_(::redisReaderCreate()) {}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address, TimePoint deadline) {
  auto socket = address.unix_path.empty() ? connect_tcp(address.host, address.port, deadline)
                                          : connect_unix(address.unix_path, deadline);
  if (!socket) return fail(socket.error());
  RedisConnection connection(*std::move(socket));
  if (auto done = connection.log_in(address, deadline); !done) return fail(done.error());
  return connection;
}

Result<void> RedisConnection::log_in(const RedisAddress& address, TimePoint deadline) {
  if (!address.password.empty() || !address.user.empty()) {
    std::vector<std::string_view> words{"AUTH"};
    if (!address.user.empty()) words.push_back(address.user);
    words.push_back(address.password);
    if (auto reply = call(words, deadline); !reply) return fail(reply.error());
  }
  if (address.db != 0) {
    const std::string db = std::to_string(address.db);
    if (auto reply = call(std::array<std::string_view, 2>{"SELECT", db}, deadline); !reply)
      return fail(reply.error());
  }
  return {};
}

Result<void> RedisConnection::send(std::span<const std::string_view> words, TimePoint deadline) {
  return send_all(socket_, format(words), deadline);
}

Result<std::optional<RedisReply>> RedisConnection::receive_buffered() {
  void* raw = nullptr;
  if (::redisReaderGetReply(reader_.get(), &raw) != REDIS_OK)
    return fail(Errc::protocol, fmt::format("not the Redis protocol: {}", reader_->errstr));
  if (raw == nullptr) return std::nullopt;
  const std::unique_ptr<void, void (*)(void*)> owned(raw, ::freeReplyObject);
  return convert(*static_cast<const redisReply*>(raw));
}

Result<RedisReply> RedisConnection::receive(TimePoint deadline) {
  for (;;) {
    auto reply = receive_buffered();
    if (!reply) return fail(reply.error());
    if (*reply) return **std::move(reply);
    std::array<char, 16 * 1024> bytes;
    const auto got = receive_some(socket_, bytes, deadline);
    if (!got) return fail(got.error());
    ::redisReaderFeed(reader_.get(), bytes.data(), *got);
  }
}

Result<RedisReply> RedisConnection::call(std::span<const std::string_view> words,
                                         TimePoint deadline) {
  std::string before;  // what it answered, if it has to be asked again
  for (;;) {
    auto reply =
        send(words, deadline).and_then([&]() -> Result<RedisReply> { return receive(deadline); });
    if (!reply && !before.empty()) return fail(reply.error().within(before));
    if (!reply || reply->kind != RedisReply::Kind::error) return reply;
    // A server that was started just now reads its data first.
    const bool soon = reply->text.starts_with("LOADING");
    if (!soon || SteadyClock().now() + kAskAgainAfter >= deadline)
      return refused(words.front(), reply->text);
    before = std::move(reply->text);
    std::this_thread::sleep_for(kAskAgainAfter);
  }
}

}  // namespace muster::net
