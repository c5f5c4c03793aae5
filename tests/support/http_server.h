#pragma once

#include <memory>
#include <utility>

#include "muster/net/http/http_server.h"

namespace muster::test {

/// One that is running, or an exception.
[[nodiscard]] inline std::unique_ptr<net::HttpServer> serve(net::HttpServer::Handler handler,
                                                            net::HttpServerOptions options = {}) {
  return net::HttpServer::start(std::move(options), std::move(handler)).value();
}

}  // namespace muster::test
