#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

/// Without a secret: proves to be the same user by a password (`user_key`), and encrypts nothing.
void use_password_as_server(ZmqSocket& socket);
void use_password_as_client(ZmqSocket& socket, std::string_view password);

/// Admits those whose key or password is ours. libzmq asks it through a socket of the same context
/// (ZeroMQ RFC 27); it answers when it is served. Without it, libzmq would admit every key.
class ZapHandler {
 public:
  [[nodiscard]] static Result<ZapHandler> open(const ZmqContext& context, const CurveKeys& keys);
  [[nodiscard]] static Result<ZapHandler> open(const ZmqContext& context, std::string password);

  [[nodiscard]] int fd() const { return socket_.fd(); }
  /// Answers all questions that are waiting. Without room nobody is let in for now.
  void serve(bool room = true);
  void close() { socket_.close(); }
  void abandon() { socket_.abandon(); }

 private:
  // What libzmq must hand over for a member: mechanism, then all credentials.
  using Credentials = std::vector<std::string>;

  ZapHandler(ZmqSocket socket, Credentials admitted)
      : socket_(std::move(socket)), admitted_(std::move(admitted)) {}
  [[nodiscard]] static Result<ZapHandler> open(const ZmqContext& context, Credentials admitted);
  [[nodiscard]] bool admits(const std::vector<std::string>& question) const;

  ZmqSocket socket_;
  Credentials admitted_;
};

}  // namespace muster::comm
