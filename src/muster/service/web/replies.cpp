#include "muster/service/web/replies.h"

#include <utility>

#include "muster/base/log.h"

namespace muster::service {

Answer refusal(int status, std::string message, std::string_view kind) {
  return {status, {{"error", std::move(message)}, {"kind", kind}}, {}};
}

void send(net::HttpExchange& exchange, const Answer& answer) {
  net::HeaderList headers = {{"Cache-Control", "no-store"}};
  if (answer.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  if (answer.status == 503) headers.emplace_back("Retry-After", "1");
  const std::string text =
      answer.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (auto sent = exchange.answer(answer.status, "application/json", text, headers); !sent)
    log(LogLevel::debug, "web", "{}: {}", exchange.request().peer, sent.error().message());
}

}  // namespace muster::service
