#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/net/byte_stream.h"
#include "muster/net/errc.h"
#include "muster/net/stream_socket.h"

namespace muster::test {

/// Long enough for a machine that does much else; tests that pass never wait for it.
[[nodiscard]] inline TimePoint soon() { return SteadyClock().now() + std::chrono::seconds(20); }

/// Sends bytes to a port of this host as they are, and reads what comes back.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port)
      : stream_(net::connect_tcp("127.0.0.1", port, soon()).value()) {}

  void send(std::string_view bytes) {
    const std::array parts{as_bytes(bytes)};
    (void)stream_.write_all(parts, {soon(), Duration::max()});
  }
  void end_writing() { stream_.end_writing(); }

  /// Everything until the server closes.
  [[nodiscard]] std::string read_all() {
    while (read_more()) {
    }
    return std::exchange(text_, {});
  }
  /// Everything up to and with the first `end`; all there is if it never comes.
  [[nodiscard]] std::string read_until(std::string_view end) {
    for (;;) {
      if (const auto at = text_.find(end); at != std::string::npos) {
        std::string result = text_.substr(0, at + end.size());
        text_.erase(0, at + end.size());
        return result;
      }
      if (!read_more()) return std::exchange(text_, {});
    }
  }

 private:
  bool read_more() {
    std::array<std::byte, 4096> piece;
    const auto got = stream_.read_some(piece, soon());
    if (!got || *got == 0) return false;
    text_.append(as_text(ByteSpan(piece).first(*got)));
    return true;
  }

  net::SocketStream stream_;
  std::string text_;
};

}  // namespace muster::test
