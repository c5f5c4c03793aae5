#include "muster/comm/driver/zmq/credentials.h"

#include <utility>
#include <zmq.h>

#include "muster/comm/driver/zmq/user_key.h"
#include "muster/comm/errc.h"

namespace muster::comm {

Result<ZmqCredentials> ZmqCredentials::make(const Security& security) {
  ZmqCredentials credentials;
  if (!security.secret.empty()) {
    if (zmq_has("curve") == 0)
      return fail(Errc::driver_type, "this libzmq cannot encrypt (it was built without CURVE)");
    credentials.keys_ = derive_curve_keys(security.secret);
  } else if (!security.insecure) {
    auto key = user_key();
    if (!key) return fail(key.error());
    credentials.password_ = *std::move(key);
  }
  return credentials;
}

void ZmqCredentials::use_as_server(ZmqSocket& socket) const {
  if (keys_) use_curve_as_server(socket, *keys_);
  if (!password_.empty()) use_password_as_server(socket);
}

void ZmqCredentials::use_as_client(ZmqSocket& socket) const {
  if (keys_) use_curve_as_client(socket, *keys_);
  if (!password_.empty()) use_password_as_client(socket, password_);
}

Result<std::optional<ZapHandler>> ZmqCredentials::open_zap(const ZmqContext& context) const {
  if (!keys_ && password_.empty()) return std::nullopt;
  auto zap = keys_ ? ZapHandler::open(context, *keys_) : ZapHandler::open(context, password_);
  if (!zap) return fail(zap.error());
  return std::optional<ZapHandler>(*std::move(zap));
}

}  // namespace muster::comm
