#include "muster/net/http/http_client.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/net/http/client_connection.h"
#include "muster/net/http/http_url.h"
#include "muster/net/http/message_text.h"
#include "muster/net/http/web_socket_end.h"
#include "muster/net/http/web_socket_handshake.h"
#include "muster/net/stream_socket.h"
#include "muster/net/tls.h"

namespace muster::net {
namespace {

using Connection = std::unique_ptr<ClientConnection>;

bool is_target(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](unsigned char c) { return c > 32 && c < 127 && c != '#'; });
}

bool has_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

class HttpClient::State {
 public:
  State(HttpUrl url, HttpClientOptions options, std::optional<TlsContext> tls)
      : url_(std::move(url)),
        text_(url_.text()),
        options_(std::move(options)),
        tls_(std::move(tls)) {}

  [[nodiscard]] const std::string& url() const { return text_; }

  Result<HttpReply> request(std::string_view method, std::string_view target,
                            std::span<const ByteSpan> body, const HeaderList& headers,
                            const Room* room, TimePoint deadline);
  Result<std::unique_ptr<WebSocket>> websocket(std::string_view target, TimePoint deadline,
                                               const WebSocketOptions& options);

 private:
  struct Idle {
    Connection connection;
    TimePoint since;
  };

  [[nodiscard]] std::string head_of(std::string_view method, std::string_view target,
                                    std::span<const ByteSpan> body,
                                    const HeaderList& headers) const;
  Result<HttpReply> ask(const ClientRequest& request, const Room* room, TimePoint deadline);
  Result<Connection> connect(TimePoint deadline) const;
  [[nodiscard]] Connection take_idle();
  void keep(Connection connection);
  [[nodiscard]] Error named(const Error& error, std::string_view method,
                            std::string_view target) const {
    return error.within(fmt::format("{} {}{}", method, text_, target.substr(0, target.find('?'))));
  }
  [[nodiscard]] Result<void> check(std::string_view method, std::string_view target) const;

  const HttpUrl url_;
  const std::string text_;
  const HttpClientOptions options_;
  const std::optional<TlsContext> tls_;
  std::mutex mutex_;
  std::vector<Idle> idle_;  // `mutex_` must be held; the latest is last
};

std::string HttpClient::State::head_of(std::string_view method, std::string_view target,
                                       std::span<const ByteSpan> body,
                                       const HeaderList& headers) const {
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\n", method, url_.prefix, target);
  append_header(text, "Host", url_.authority());
  if (!options_.token.empty()) append_header(text, "Authorization", "Bearer " + options_.token);
  std::uint64_t length = 0;
  for (const ByteSpan& part : body) length += part.size();
  if (length > 0 || has_body(method)) append_header(text, "Content-Length", std::to_string(length));
  append_headers(text, headers);
  return text + "\r\n";
}

Result<Connection> HttpClient::State::connect(TimePoint deadline) const {
  deadline = std::min(deadline, SteadyClock().now() + options_.connect);
  auto socket = connect_tcp(url_.host, url_.port, deadline);
  if (!socket) return fail(socket.error());
  std::shared_ptr<ByteStream> stream;
  if (tls_) {
    stream = tls_->connect(*std::move(socket), url_.host);
  } else {
    stream = std::make_shared<SocketStream>(*std::move(socket));
  }
  if (auto ready = stream->handshake(deadline); !ready) return fail(ready.error());
  return std::make_unique<ClientConnection>(std::move(stream), options_.step);
}

Connection HttpClient::State::take_idle() {
  const std::lock_guard lock(mutex_);
  const TimePoint oldest = SteadyClock().now() - options_.keep_idle;
  std::erase_if(idle_, [&](const Idle& idle) { return idle.since < oldest; });
  while (!idle_.empty()) {
    Connection last = std::move(idle_.back().connection);
    idle_.pop_back();
    if (last->quiet()) return last;
  }
  return nullptr;
}

void HttpClient::State::keep(Connection connection) {
  if (!connection->reusable()) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= options_.most_idle) return;
  idle_.push_back({std::move(connection), SteadyClock().now()});
}

Result<HttpReply> HttpClient::State::ask(const ClientRequest& request, const Room* room,
                                         TimePoint deadline) {
  Connection connection = take_idle();
  if (connection) {
    auto head = connection->exchange(request, deadline);
    const bool closed_meanwhile =
        !head && !connection->answered() && head.error().is(Errc::unreachable);
    if (!closed_meanwhile) {
      if (!head) return fail(head.error());
      auto reply = connection->read_body(*std::move(head), room, options_.most_reply, deadline);
      keep(std::move(connection));
      return reply;
    }
  }
  auto fresh = connect(deadline);
  if (!fresh) return fail(fresh.error());
  auto head = (*fresh)->exchange(request, deadline);
  if (!head) return fail(head.error());
  auto reply = (*fresh)->read_body(*std::move(head), room, options_.most_reply, deadline);
  keep(*std::move(fresh));
  return reply;
}

Result<void> HttpClient::State::check(std::string_view method, std::string_view target) const {
  if (is_target(target)) return {};
  return fail(Errc::invalid_address,
              fmt::format("{} {}: '{}' does not begin with '/' or has characters that need escapes",
                          method, text_, target));
}

Result<HttpReply> HttpClient::State::request(std::string_view method, std::string_view target,
                                             std::span<const ByteSpan> body,
                                             const HeaderList& headers, const Room* room,
                                             TimePoint deadline) {
  if (auto good = check(method, target); !good) return fail(good.error());
  ClientRequest request{head_of(method, target, body, headers), body, method == "HEAD"};
  auto reply = ask(request, room, deadline);
  if (!reply) return fail(named(reply.error(), method, target));
  return reply;
}

Result<std::unique_ptr<WebSocket>> HttpClient::State::websocket(std::string_view target,
                                                                TimePoint deadline,
                                                                const WebSocketOptions& options) {
  if (auto good = check("GET", target); !good) return fail(good.error());
  auto connection = connect(deadline);
  if (!connection) return fail(named(connection.error(), "GET", target));
  const HeaderList asked = ask_handshake();
  const auto head =
      (*connection)->exchange({head_of("GET", target, {}, asked), {}, false}, deadline);
  if (!head) return fail(named(head.error(), "GET", target));
  if (auto agreed = check_handshake(asked, head->head); !agreed)
    return fail(named(agreed.error(), "GET", target));
  return std::make_unique<WebSocketEnd>((*connection)->stream(), (*connection)->ahead(),
                                        WebSocketRole::client, options);
}

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::make(std::string_view url, HttpClientOptions options) {
  auto parsed = parse_http_url(url);
  if (!parsed) return fail(parsed.error());
  const auto& token = options.token;
  if (!std::ranges::all_of(token, [](unsigned char c) { return c > 32 && c < 127; }))
    return fail(Errc::auth, "the token has spaces or characters that are not ASCII");
  std::optional<TlsContext> tls;
  if (parsed->tls) {
    auto made = TlsContext::for_client(options.tls_ca);
    if (!made) return fail(made.error());
    tls = *std::move(made);
  }
  return HttpClient(
      std::make_unique<State>(*std::move(parsed), std::move(options), std::move(tls)));
}

const std::string& HttpClient::url() const { return state_->url(); }

Result<HttpReply> HttpClient::request(std::string_view method, std::string_view path_and_query,
                                      std::span<const ByteSpan> body, const HeaderList& headers,
                                      TimePoint deadline) const {
  return state_->request(method, path_and_query, body, headers, nullptr, deadline);
}

Result<HttpReply> HttpClient::request_into(std::string_view method, std::string_view path_and_query,
                                           std::span<const ByteSpan> body,
                                           const HeaderList& headers, const Room& room,
                                           TimePoint deadline) const {
  return state_->request(method, path_and_query, body, headers, &room, deadline);
}

Result<std::unique_ptr<WebSocket>> HttpClient::websocket(std::string_view path_and_query,
                                                         TimePoint deadline,
                                                         const WebSocketOptions& options) const {
  return state_->websocket(path_and_query, deadline, options);
}

}  // namespace muster::net
