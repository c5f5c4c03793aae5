#include "muster/net/http/http_exchange.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/base/wall_clock.h"
#include "muster/net/errc.h"
#include "muster/net/http/http_server.h"
#include "muster/net/http/message_text.h"
#include "muster/net/http/web_socket_end.h"
#include "muster/net/http/web_socket_handshake.h"
#include "muster/net/http/whole_body.h"

namespace muster::net {
namespace {

// Reading this much to keep a connection costs less than making a new one.
constexpr std::uint64_t kMostDrained = 256u << 10;

int status_for(const Error& error) {
  if (error.is(Errc::timeout)) return 408;
  return error.is(Errc::too_large) ? 413 : 400;
}

bool bodiless(int status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

HttpExchange::HttpExchange(std::shared_ptr<ByteStream> stream, StreamReader& reader,
                           RequestHead head, const HttpServerOptions& options, ServerState& server)
    : stream_(std::move(stream)),
      reader_(reader),
      options_(options),
      server_(server),
      head_(std::move(head)),
      body_(reader, head_.body),
      keep_alive_(head_.keep_alive),
      continue_wanted_(head_.expects_continue) {}

HttpExchange::~HttpExchange() {
  if (is_stream_) --server_.streams;
}

bool HttpExchange::take_stream() {
  std::size_t open = server_.streams;
  while (open < options_.most_streams)
    if (server_.streams.compare_exchange_weak(open, open + 1)) return is_stream_ = true;
  return false;
}

Patience HttpExchange::patience() const { return {TimePoint::max(), options_.step}; }

std::optional<std::uint64_t> HttpExchange::body_length() const { return body_.length(); }

Result<std::size_t> HttpExchange::note(Result<std::size_t> got) {
  if (got) return got;
  unread_status_ = status_for(got.error());
  unread_why_ = got.error().message();
  keep_alive_ = false;
  return got;
}

Result<void> HttpExchange::send_continue() {
  continue_wanted_ = false;
  if (answered()) return {};
  const std::array parts{as_bytes("HTTP/1.1 100 Continue\r\n\r\n")};
  return send(parts);
}

Result<std::size_t> HttpExchange::read_body(std::span<std::byte> into) {
  if (continue_wanted_) {
    if (auto sent = send_continue(); !sent) return fail(sent.error());
  }
  return note(body_.read(into, patience()));
}

Result<Buffer> HttpExchange::whole_body(std::size_t most) {
  auto read = [this](std::span<std::byte> into) { return read_body(into); };
  auto body = read_whole_body(body_.length(), most, read);
  if (!body && body.error().is(Errc::too_large)) (void)note(fail(body.error()));
  return body;
}

Result<void> HttpExchange::send(std::span<const ByteSpan> parts) {
  auto sent = stream_->write_all(parts, patience());
  if (!sent) keep_alive_ = false;
  return sent;
}

std::string HttpExchange::answer_head(int status, std::string_view type,
                                      const HeaderList& headers) const {
  if (status < 100 || status > 999)
    throw std::invalid_argument(fmt::format("[http] {} is no status", status));
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  append_header(text, "Date", http_date(wall_clock<std::chrono::seconds>()));
  if (!type.empty()) append_header(text, "Content-Type", type);
  append_headers(text, headers);
  return text;
}

Result<void> HttpExchange::begin(int status, std::string_view type,
                                 std::optional<std::uint64_t> length, const HeaderList& headers) {
  return begin_with(status, type, length, headers, {});
}

Result<void> HttpExchange::begin_with(int status, std::string_view type,
                                      std::optional<std::uint64_t> length,
                                      const HeaderList& headers, ByteSpan body) {
  if (answered()) throw std::logic_error("[http] a request is answered once");
  std::string text = answer_head(status, type, headers);
  sends_body_ = !bodiless(status) && head_.request.method != "HEAD";
  sends_chunks_ = sends_body_ && !length && !head_.http_1_0;
  left_ = length;
  if (!length && head_.http_1_0) keep_alive_ = false;  // the end of the connection ends the body
  // The client may send the body or not, now that it got an answer instead of "100 Continue".
  const auto unread = body_.length().value_or(kMostDrained + 1);
  if (!body_.at_end() && (continue_wanted_ || unread > kMostDrained)) keep_alive_ = false;
  if (server_.stopping) keep_alive_ = false;
  if (!bodiless(status)) {
    if (length) append_header(text, "Content-Length", std::to_string(*length));
    if (!length && !head_.http_1_0) append_header(text, "Transfer-Encoding", "chunked");
  }
  if (!keep_alive_) append_header(text, "Connection", "close");
  text += "\r\n";
  phase_ = Phase::begun;
  const std::array parts{as_bytes(text), sends_body_ ? body : ByteSpan()};
  if (left_) *left_ -= std::min<std::uint64_t>(*left_, body.size());
  return send(parts);
}

Result<void> HttpExchange::answer(int status, std::string_view type, ByteSpan body,
                                  const HeaderList& headers) {
  auto sent = begin_with(status, type, body.size(), headers, body);
  phase_ = Phase::ended;
  return sent;
}

Result<void> HttpExchange::write(ByteSpan bytes) {
  if (phase_ != Phase::begun) throw std::logic_error("[http] write comes between begin and end");
  if (left_ && bytes.size() > *left_) {
    throw std::invalid_argument(fmt::format(
        "[http] {} bytes are more than the {} that were announced", bytes.size(), *left_));
  }
  if (left_) *left_ -= bytes.size();
  if (!sends_body_ || bytes.empty()) return {};
  if (!sends_chunks_) {
    const std::array parts{bytes};
    return send(parts);
  }
  const std::string size = fmt::format("{:x}\r\n", bytes.size());
  const std::array parts{as_bytes(size), bytes, as_bytes("\r\n")};
  return send(parts);
}

Result<void> HttpExchange::end() {
  if (phase_ != Phase::begun) throw std::logic_error("[http] end comes once, behind begin");
  if (left_.value_or(0) > 0 && sends_body_)
    throw std::logic_error(fmt::format("[http] {} bytes that were announced are missing", *left_));
  phase_ = Phase::ended;
  if (!sends_chunks_) return {};
  const std::array parts{as_bytes("0\r\n\r\n")};
  return send(parts);
}

Result<void> HttpExchange::refuse(int status, std::string_view text, const HeaderList& headers) {
  return answer(status, "text/plain; charset=utf-8", as_bytes(std::string(text) + "\n"), headers);
}

Result<std::unique_ptr<WebSocket>> HttpExchange::upgrade(const WebSocketOptions& options) {
  if (answered()) throw std::logic_error("[http] a request is answered once");
  const auto shake = answer_handshake(head_.request, options);
  if (!shake || head_.http_1_0 || head_.body.framing != BodyPlan::Framing::none) {
    const Refusal why = shake ? Refusal{400, "a web socket begins with HTTP/1.1 and without a body"}
                              : shake.error();
    (void)refuse(why.status, why.text,
                 why.status == 426 ? HeaderList{{"Sec-WebSocket-Version", "13"}} : HeaderList());
    return fail(Errc::protocol, why.text);
  }
  if (!take_stream()) {
    const std::string why =
        fmt::format("there are {} web sockets already, which is the limit: close one, or try again",
                    options_.most_streams);
    (void)refuse(503, why, {{"Retry-After", "1"}});
    return fail(Errc::server_error, why);
  }
  std::string text = "HTTP/1.1 101 Switching Protocols\r\n";
  append_headers(text, *shake);
  text += "\r\n";
  const std::array parts{as_bytes(text)};
  phase_ = Phase::upgraded;
  if (auto sent = send(parts); !sent) return fail(sent.error());
  const std::string ahead(reader_.buffered());
  reader_.consume(ahead.size());
  return std::make_unique<WebSocketEnd>(stream_, ahead, WebSocketRole::server, options);
}

bool HttpExchange::drain() {
  const Patience patience{SteadyClock().now() + options_.step, options_.step};
  std::array<std::byte, 16u << 10> dropped;
  for (std::uint64_t bytes = 0; bytes <= kMostDrained;) {
    const auto got = body_.read(dropped, patience);
    if (!got) return false;
    if (*got == 0) return true;
    bytes += *got;
  }
  return false;
}

void HttpExchange::handler_failed(std::string_view what) {
  unread_status_ = 500;
  unread_why_ = what;
}

bool HttpExchange::finish() {
  if (phase_ == Phase::waiting) (void)refuse(unread_status_, unread_why_);
  if (phase_ == Phase::begun) stream_->cut();
  return phase_ == Phase::ended && keep_alive_ && drain();
}

}  // namespace muster::net
