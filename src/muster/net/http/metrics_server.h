#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "muster/base/result.h"
#include "muster/net/http/http_server.h"

namespace muster::net {

/// Answers GET /metrics with a text for Prometheus and GET /healthz with 200. Needs no token, so it
/// belongs on an address that only the operator reaches. Thread-safe.
class MetricsServer {
 public:
  /// Called in many threads.
  using Text = std::function<std::string()>;

  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& host,
                                                                    std::uint16_t port, Text text);

  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  void stop() { server_->stop(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  std::unique_ptr<HttpServer> server_;
};

}  // namespace muster::net
