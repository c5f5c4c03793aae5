#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"

namespace muster::net {

struct WebSocketMessage {
  enum class Kind : bool { text, bytes } kind = Kind::text;
  Buffer body{};
};

struct WebSocketOptions {
  std::size_t most_message = 16u << 20;  ///< a longer one ends the socket with code 1009
  /// While somebody receives, the other end is asked for a sign of life this often, and taken for
  /// gone when it gave none for twice as long.
  Duration ping_every = std::chrono::seconds(20);
  Duration step = std::chrono::seconds(30);  ///< longest time without progress while sending
  /// For a server: may the page with that Origin connect? When empty: those of the same host and
  /// programs, which send no Origin.
  std::function<bool(std::string_view origin)> allow_origin{};
};

/// Either end of a web socket. Closes when it goes. Thread-safe; one receives at a time.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  virtual Result<void> send_text(std::string_view text) = 0;
  virtual Result<void> send_bytes(ByteSpan bytes) = 0;

  /// The next message; nothing when none came before the deadline. `Errc::closed` once either end
  /// closed, with its code and reason. Answers pings and closing on the way, so somebody should
  /// receive even where no message is expected.
  virtual Result<std::optional<WebSocketMessage>> receive(TimePoint deadline) = 0;

  /// Says so to the other end; whoever receives returns when that end has answered, or gone.
  virtual void close(std::uint16_t code = 1000, std::string_view reason = {}) = 0;
};

}  // namespace muster::net
