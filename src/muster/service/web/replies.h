#pragma once

#include <string>
#include <string_view>

#include "muster/net/http/http_exchange.h"
#include "muster/service/protocol/ask.h"

namespace muster::service {

/// Says no to a client: {"error": message, "kind": kind}.
[[nodiscard]] Answer refusal(int status, std::string message,
                             std::string_view kind = "RuntimeError");

/// Sends an answer as JSON. A client that is gone is no failure.
void send(net::HttpExchange& exchange, const Answer& answer);

}  // namespace muster::service
