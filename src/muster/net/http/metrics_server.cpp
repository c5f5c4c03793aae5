#include "muster/net/http/metrics_server.h"

#include <utility>

namespace muster::net {
namespace {

constexpr std::size_t kMostConnections = 16;
constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

void serve(HttpExchange& exchange, const MetricsServer::Text& text) {
  const HttpRequest& request = exchange.request();
  const bool metrics = request.path == "/metrics";
  if (!metrics && request.path != "/healthz") {
    (void)exchange.answer(404, kPlain, "there are /metrics and /healthz\n");
  } else if (request.method != "GET" && request.method != "HEAD") {
    (void)exchange.answer(405, kPlain, "only GET\n", {{"Allow", "GET, HEAD"}});
  } else {
    (void)exchange.answer(200, metrics ? kPrometheus : kPlain, metrics ? text() : "ok\n");
  }
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& host,
                                                            std::uint16_t port, Text text) {
  HttpServerOptions options;
  options.host = host;
  options.port = port;
  options.most_connections = kMostConnections;
  auto server = HttpServer::start(
      std::move(options),
      [text = std::move(text)](HttpExchange& exchange) { serve(exchange, text); });
  if (!server) return fail(server.error());
  return std::unique_ptr<MetricsServer>(new MetricsServer(*std::move(server)));
}

}  // namespace muster::net
