#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "muster/comm/driver/zmq/socket.h"

namespace muster::comm {

/// The key pair that all members of a group have, because they know the same secret.
struct CurveKeys {
  std::array<std::byte, 32> public_key{};
  std::array<std::byte, 32> secret_key{};
};

/// The same secret gives the same keys everywhere. A short secret can be guessed from a recorded
/// handshake: it should be random.
[[nodiscard]] CurveKeys derive_curve_keys(std::string_view secret);

/// Makes a listening socket encrypt, and ask the ZAP handler about everybody who knocks.
void use_curve_as_server(ZmqSocket& socket, const CurveKeys& keys);
void use_curve_as_client(ZmqSocket& socket, const CurveKeys& keys);

/// Admits those whose key is ours. libzmq asks it through a socket of the same context (ZeroMQ RFC
/// 27); it answers when it is served. Without it, libzmq would admit every key.
class ZapHandler {
 public:
  [[nodiscard]] static Result<ZapHandler> open(const ZmqContext& context, const CurveKeys& keys);

  [[nodiscard]] int fd() const { return socket_.fd(); }
  /// Answers all questions that are waiting.
  void serve();
  void close() { socket_.close(); }
  void abandon() { socket_.abandon(); }

 private:
  ZapHandler(ZmqSocket socket, const CurveKeys& keys)
      : socket_(std::move(socket)), admitted_(keys.public_key) {}

  ZmqSocket socket_;
  std::array<std::byte, 32> admitted_;
};

}  // namespace muster::comm
