#include "muster/net/http/server_connection.h"

#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/net/http/http_url.h"
#include "muster/net/http/message_text.h"

namespace muster::net {
namespace {

constexpr Duration kLinger = std::chrono::seconds(2);

Refusal refusal_for(HeadFailure failure, std::size_t most) {
  switch (failure) {
    case HeadFailure::timeout: return {408, "the request did not come in time"};
    case HeadFailure::too_large:
      return {431, fmt::format("the headers have more than {} bytes", most)};
    default: return {400, "this is no HTTP"};
  }
}

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ByteStream> stream, std::string peer,
                                   const HttpServerOptions& options,
                                   const HttpServer::Handler& handler, ServerState& server)
    : stream_(std::move(stream)),
      peer_(std::move(peer)),
      options_(options),
      handler_(handler),
      server_(server),
      reader_(*stream_) {}

void ServerConnection::run() {
  try {
    if (const auto ready = stream_->handshake(SteadyClock().now() + options_.step); !ready) {
      log(LogLevel::info, "http", "{}: {}", peer_, ready.error().message());
    } else {
      while (wait_for_request() && serve_request()) {
      }
    }
  } catch (const std::exception& error) {  // no memory: this connection ends, others go on
    log(LogLevel::error, "http", "{}: {}", peer_, error.what());
  }
  stream_->cut();
}

bool ServerConnection::wait_for_request() {
  if (server_.stopping) return false;
  if (!reader_.buffered().empty()) return true;
  return reader_.fill(SteadyClock().now() + options_.idle).value_or(false);
}

bool ServerConnection::serve_request() {
  const auto text = read_head(reader_, options_.most_header, SteadyClock().now() + options_.step);
  if (!text) {
    const HeadFailure why = text.error();
    if (why != HeadFailure::ended && why != HeadFailure::cut)
      refuse(refusal_for(why, options_.most_header));
    return false;
  }
  auto head = parse_request(*text, options_.most_header_fields);
  reader_.consume(text->size());
  if (!head) {
    refuse(head.error());
    return false;
  }
  return serve(*std::move(head));
}

bool ServerConnection::serve(RequestHead head) {
  head.request.peer = peer_;
  HttpExchange exchange(stream_, reader_, std::move(head), options_, server_);
  try {
    handler_(exchange);
  } catch (const std::exception& error) {
    log(LogLevel::warning, "http", "{} {}: {}", exchange.request().method,
        without_secrets(exchange.request().path), error.what());
    exchange.handler_failed(error.what());
  } catch (...) {
    exchange.handler_failed("the handler failed");
  }
  if (exchange.finish()) return true;
  linger();
  return false;
}

void ServerConnection::refuse(const Refusal& refusal) {
  const std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}\n",
      refusal.status, reason_of(refusal.status), refusal.text.size() + 1, refusal.text);
  const std::array parts{as_bytes(text)};
  if (stream_->write_all(parts, {TimePoint::max(), options_.step})) linger();
}

void ServerConnection::linger() {
  stream_->end_writing();
  const TimePoint deadline = SteadyClock().now() + kLinger;
  std::array<std::byte, 16u << 10> dropped;
  while (SteadyClock().now() < deadline) {
    const auto got = stream_->read_some(dropped, deadline);
    if (!got || *got == 0) return;
  }
}

}  // namespace muster::net
