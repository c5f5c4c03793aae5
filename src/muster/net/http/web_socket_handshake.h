#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "muster/base/result.h"
#include "muster/net/http/head.h"
#include "muster/net/http/http_message.h"
#include "muster/net/http/web_socket.h"

namespace muster::net {

/// What a server answers to a client's `Sec-WebSocket-Key`.
[[nodiscard]] std::string accept_for_key(std::string_view key);

/// The headers that make a request the beginning of a web socket, with a key of their own.
[[nodiscard]] HeaderList ask_handshake();

/// The headers of the answer 101, or why the request is refused: no web socket asked for, another
/// version (426), or a page of another host (403).
[[nodiscard]] tl::expected<HeaderList, Refusal> answer_handshake(const HttpRequest& request,
                                                                 const WebSocketOptions& options);

/// `Errc::protocol` unless the server agreed to what `asked`.
[[nodiscard]] Result<void> check_handshake(const HeaderList& asked, const HttpHead& answer);

}  // namespace muster::net
