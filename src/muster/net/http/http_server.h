#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/net/http/http_exchange.h"
#include "muster/net/tls.h"

namespace muster::net {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0 takes a free one
  std::optional<TlsFiles> tls{};
  /// Connections with requests; one more is answered 503. Each costs a thread.
  std::size_t most_connections = 256;
  /// Web sockets, which take no place of a request; one more is answered 503.
  std::size_t most_streams = 256;
  std::size_t most_header = 64u << 10;
  std::size_t most_header_fields = 128;
  Duration idle = std::chrono::seconds(60);  ///< a connection without a request is closed then
  /// The longest time for a request's head, and without progress inside a body or an answer.
  Duration step = std::chrono::seconds(30);
};

/// Serves HTTP/1.1, in one thread per connection. Thread-safe.
class HttpServer {
 public:
  /// Called in many threads. What it throws is answered with 500 and `what()`.
  using Handler = std::function<void(HttpExchange&)>;

  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                                 Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  [[nodiscard]] std::uint16_t port() const;
  /// Open connections now, web sockets among them.
  [[nodiscard]] std::size_t connections() const;

  /// No new requests from now on; running ones may finish within half a second, then their
  /// connections are cut. Waits for the handlers: one that waits for something other than its
  /// exchange looks at `stopping()`.
  void stop();

 private:
  class State;
  explicit HttpServer(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace muster::net
