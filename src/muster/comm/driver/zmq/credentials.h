#pragma once

#include <optional>
#include <string>

#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/zmq/curve.h"
#include "muster/comm/driver/zmq/socket.h"

namespace muster::comm {

/// How sockets prove that they belong together: by keys made from the secret, without one by the
/// user's password, and not at all where the user insists.
class ZmqCredentials {
 public:
  ZmqCredentials() = default;
  [[nodiscard]] static Result<ZmqCredentials> make(const Security& security);

  [[nodiscard]] bool encrypts() const { return keys_.has_value(); }
  void use_as_server(ZmqSocket& socket) const;
  void use_as_client(ZmqSocket& socket) const;
  /// To be opened before a server's socket is bound; nothing where everybody is admitted.
  [[nodiscard]] Result<std::optional<ZapHandler>> open_zap(const ZmqContext& context) const;

 private:
  std::optional<CurveKeys> keys_;
  std::string password_;  // empty with keys, and when anybody may come
};

}  // namespace muster::comm
