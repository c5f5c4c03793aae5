#include "muster/net/http/unix_http.h"

#include <array>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/net/stream_socket.h"

namespace muster::net {

Result<UnixHttpExchange> UnixHttpExchange::begin(const std::string& socket_path,
                                                 std::string_view method, std::string_view target,
                                                 std::string_view json, TimePoint deadline) {
  auto socket = connect_unix(socket_path, deadline);
  if (!socket) return fail(socket.error());
  std::string request = fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n", method,
      target, json.size());
  if (!json.empty()) request += "Content-Type: application/json\r\n";
  request.append("\r\n").append(json);
  if (auto sent = send_all(*socket, request, deadline); !sent) return fail(sent.error());
  return UnixHttpExchange(std::move(*socket));
}

Result<void> UnixHttpExchange::receive(std::string& body, TimePoint deadline) {
  std::array<char, 65536> piece;
  const auto count = receive_some(socket_, piece, deadline);
  if (!count) {
    // The end of the connection may be the end of the body.
    if (count.error().is(Errc::unreachable) && reader_.finish()) return {};
    return fail(count.error());
  }
  return reader_.take({piece.data(), *count}, body);
}

Result<HttpResponse> unix_http(const std::string& socket_path, std::string_view method,
                               std::string_view target, std::string_view json, TimePoint deadline) {
  auto exchange = UnixHttpExchange::begin(socket_path, method, target, json, deadline);
  if (!exchange) return fail(exchange.error());
  HttpResponse response;
  while (!exchange->response().complete()) {
    if (auto got = exchange->receive(response.body, deadline); !got) return fail(got.error());
  }
  response.status = exchange->response().status();
  return response;
}

}  // namespace muster::net
