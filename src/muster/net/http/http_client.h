#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/http/http_message.h"
#include "muster/net/http/web_socket.h"

namespace muster::net {

struct HttpClientOptions {
  std::string token{};   ///< sent as "Authorization: Bearer …" unless empty
  std::string tls_ca{};  ///< a PEM file of those who may vouch for the server; else the system's
  Duration connect = std::chrono::seconds(10);
  /// The longest time without progress inside a body; an answer may begin as late as the deadline.
  Duration step = std::chrono::seconds(30);
  Duration keep_idle = std::chrono::seconds(20);  ///< less than servers keep a connection
  std::size_t most_idle = 16;
  std::size_t most_reply = std::size_t{4} << 30;  ///< of a body that `request` returns
};

/// Asks one server. Keeps connections open between requests and takes one per request at a time,
/// so many threads may ask at once. Thread-safe. Errors name the URL and the cause.
class HttpClient {
 public:
  /// `http://host:port/prefix` or `https://…`; the prefix goes before every path.
  [[nodiscard]] static Result<HttpClient> make(std::string_view url,
                                               HttpClientOptions options = {});
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// Sends the spans one after the other as the body, and returns the answer, whatever its status.
  /// A connection that the server closed while it was idle is replaced, once: the request may then
  /// reach a server twice that closes a connection without an answer.
  Result<HttpReply> request(std::string_view method, std::string_view path_and_query,
                            std::span<const ByteSpan> body, const HeaderList& headers,
                            TimePoint deadline) const;
  /// Without a body.
  Result<HttpReply> get(std::string_view path_and_query, TimePoint deadline) const {
    return request("GET", path_and_query, {}, {}, deadline);
  }

  /// Where the body of a 2xx answer goes, asked once, before the body is read. It must have room
  /// for all of it; what is left over stays as it was.
  using Room = std::function<std::span<std::byte>(const HttpHead&)>;

  /// As `request`, but the body of a 2xx answer goes straight into memory of the caller; `length`
  /// of the reply is then what was written there. Other answers come whole.
  Result<HttpReply> request_into(std::string_view method, std::string_view path_and_query,
                                 std::span<const ByteSpan> body, const HeaderList& headers,
                                 const Room& room, TimePoint deadline) const;

  /// Opens a web socket on a connection of its own.
  Result<std::unique_ptr<WebSocket>> websocket(std::string_view path_and_query, TimePoint deadline,
                                               const WebSocketOptions& options = {}) const;

  /// As it was given, without a '/' at its end.
  [[nodiscard]] const std::string& url() const;

 private:
  class State;
  explicit HttpClient(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace muster::net
