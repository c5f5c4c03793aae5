#include "muster/comm/driver/zmq/curve.h"

#include <sodium.h>
#include <string>
#include <vector>
#include <zmq.h>

#include "muster/base/assert.h"

namespace muster::comm {
namespace {

static_assert(crypto_scalarmult_curve25519_BYTES == 32 &&
              crypto_scalarmult_curve25519_SCALARBYTES == 32);

// Binds the keys to their use: another use of the same secret gets other keys.
constexpr std::string_view kPurpose = "muster zmq curve keys, version 1";
constexpr std::string_view kZapEndpoint = "inproc://zeromq.zap.01";
constexpr std::string_view kDomain = "muster";
constexpr std::size_t kMostParts = 16;  // of a question; more are no question

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* raw(std::array<std::byte, 32>& key) {
  return reinterpret_cast<unsigned char*>(key.data());
}

}  // namespace

CurveKeys derive_curve_keys(std::string_view secret) {
  const int ready = sodium_init();
  MUSTER_ASSERT(ready >= 0, "libsodium can be used");
  CurveKeys keys;
  crypto_generichash(raw(keys.secret_key), keys.secret_key.size(), raw(secret), secret.size(),
                     raw(kPurpose), kPurpose.size());
  crypto_scalarmult_curve25519_base(raw(keys.public_key), raw(keys.secret_key));
  return keys;
}

void use_curve_as_server(ZmqSocket& socket, const CurveKeys& keys) {
  socket.set(ZMQ_ZAP_DOMAIN, as_bytes(kDomain));
  socket.set(ZMQ_CURVE_SERVER, 1);
  socket.set(ZMQ_CURVE_SECRETKEY, keys.secret_key);
}

void use_curve_as_client(ZmqSocket& socket, const CurveKeys& keys) {
  socket.set(ZMQ_CURVE_SERVERKEY, keys.public_key);
  socket.set(ZMQ_CURVE_PUBLICKEY, keys.public_key);
  socket.set(ZMQ_CURVE_SECRETKEY, keys.secret_key);
}

void use_password_as_server(ZmqSocket& socket) {
  socket.set(ZMQ_ZAP_DOMAIN, as_bytes(kDomain));
  socket.set(ZMQ_PLAIN_SERVER, 1);
}

void use_password_as_client(ZmqSocket& socket, std::string_view password) {
  socket.set(ZMQ_PLAIN_USERNAME, as_bytes(kDomain));
  socket.set(ZMQ_PLAIN_PASSWORD, as_bytes(password));
}

Result<ZapHandler> ZapHandler::open(const ZmqContext& context, const CurveKeys& keys) {
  return open(context, Credentials{"CURVE", std::string(as_text(keys.public_key))});
}

Result<ZapHandler> ZapHandler::open(const ZmqContext& context, std::string password) {
  return open(context, Credentials{"PLAIN", std::string(kDomain), std::move(password)});
}

Result<ZapHandler> ZapHandler::open(const ZmqContext& context, Credentials admitted) {
  auto socket = ZmqSocket::open(context, ZMQ_REP);
  if (!socket) return fail(socket.error());
  socket->set(ZMQ_LINGER, 0);
  if (auto ok = socket->bind(std::string(kZapEndpoint)); !ok) return fail(ok.error());
  return ZapHandler(*std::move(socket), std::move(admitted));
}

bool ZapHandler::admits(const std::vector<std::string>& question) const {
  // version, request id, domain, address, identity, mechanism, credentials
  constexpr std::size_t kMechanism = 5;
  if (question.size() != kMechanism + admitted_.size()) return false;
  bool same = question[0] == "1.0" && question[2] == kDomain;
  for (std::size_t i = 0; i < admitted_.size(); ++i) {
    const std::string& given = question[kMechanism + i];
    same = same && given.size() == admitted_[i].size() &&
           sodium_memcmp(given.data(), admitted_[i].data(), given.size()) == 0;
  }
  return same;
}

void ZapHandler::serve(bool room) {
  while (const auto question = receive_strings(socket_, kMostParts)) {
    const std::string id = question->size() > 1 ? (*question)[1] : "";
    if (!admits(*question))
      static_cast<void>(send_strings(socket_, {"1.0", id, "400", "not of this group", "", ""}));
    else if (!room)
      static_cast<void>(send_strings(socket_, {"1.0", id, "300", "no room", "", ""}));
    else
      static_cast<void>(send_strings(socket_, {"1.0", id, "200", "OK", "member", ""}));
  }
}

}  // namespace muster::comm
