#include "muster/net/http/client_connection.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/net/http/whole_body.h"

namespace muster::net {
namespace {

constexpr std::size_t kMostHead = 256u << 10;
constexpr int kMostInterim = 16;
// For the answer of a server that did not want to read the whole request.
constexpr Duration kLastWords = std::chrono::seconds(1);

Error head_error(HeadFailure failure) {
  switch (failure) {
    case HeadFailure::ended:
      return {make_error_code(Errc::unreachable),
              "the server closed the connection without an answer"};
    case HeadFailure::cut:
      return {make_error_code(Errc::unreachable), "the connection broke inside the answer"};
    case HeadFailure::timeout: return {make_error_code(Errc::timeout), "no answer in time"};
    case HeadFailure::too_large:
      return {make_error_code(Errc::protocol), "the headers of the answer are too long"};
    case HeadFailure::malformed: break;
  }
  return {make_error_code(Errc::protocol), "the answer is no HTTP"};
}

}  // namespace

ClientConnection::ClientConnection(std::shared_ptr<ByteStream> stream, Duration step)
    : stream_(std::move(stream)), step_(step), reader_(*stream_) {}

Result<ReplyHead> ClientConnection::exchange(const ClientRequest& request, TimePoint deadline) {
  answered_ = false;
  reusable_ = false;
  std::vector<ByteSpan> parts{as_bytes(request.head)};
  parts.insert(parts.end(), request.body.begin(), request.body.end());
  const auto sent = stream_->write_all(parts, {deadline, step_});
  if (sent) return read_reply_head(request.is_head, deadline);
  if (!sent.error().is(Errc::unreachable)) return fail(sent.error());
  auto reply =
      read_reply_head(request.is_head, std::min(deadline, SteadyClock().now() + kLastWords));
  if (!reply) return fail(answered_ ? reply.error() : sent.error());
  reply->keep_alive = false;
  return reply;
}

Result<ReplyHead> ClientConnection::read_reply_head(bool is_head, TimePoint deadline) {
  for (int interim = 0; interim < kMostInterim; ++interim) {
    const auto text = read_head(reader_, kMostHead, deadline);
    answered_ = answered_ || text || !reader_.buffered().empty();
    if (!text) return tl::unexpected(head_error(text.error()));
    auto head = parse_reply(*text, is_head);
    reader_.consume(text->size());
    if (!head || head->head.status >= 200 || head->head.status == 101) return head;
  }
  return fail(Errc::protocol, "the server sends one interim answer after the other");
}

Result<HttpReply> ClientConnection::read_body(ReplyHead head, const HttpClient::Room* room,
                                              std::size_t most, TimePoint deadline) {
  const bool keep_alive = head.keep_alive;
  BodyReader body(reader_, head.body);
  Result<HttpReply> reply;
  if (room != nullptr && head.head.ok()) {
    const auto place = (*room)(head.head);
    reply = read_into(std::move(head), body, place, deadline);
  } else {
    const auto read = [&](std::span<std::byte> into) { return body.read(into, {deadline, step_}); };
    auto whole = read_whole_body(body.length(), most, read);
    if (!whole) return fail(whole.error());
    reply = HttpReply{std::move(head.head), *std::move(whole)};
  }
  reusable_ = reply && keep_alive && body.at_end();
  return reply;
}

Result<HttpReply> ClientConnection::read_into(ReplyHead head, BodyReader& body,
                                              std::span<std::byte> room, TimePoint deadline) {
  if (body.length().value_or(0) > room.size()) {
    return fail(Errc::too_large, fmt::format("the answer has {} bytes, more than the {} expected",
                                             *body.length(), room.size()));
  }
  std::size_t used = 0;
  std::byte one_more{};
  for (;;) {
    const bool full = used == room.size();
    const auto got =
        body.read(full ? std::span(&one_more, 1) : room.subspan(used), {deadline, step_});
    if (!got) return fail(got.error());
    if (*got == 0) break;
    if (full)
      return fail(Errc::too_large,
                  fmt::format("the answer has more than the {} bytes expected", room.size()));
    used += *got;
  }
  head.head.length = used;
  return HttpReply{std::move(head.head), {}};
}

}  // namespace muster::net
