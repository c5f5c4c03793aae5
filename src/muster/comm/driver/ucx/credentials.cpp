#include "muster/comm/driver/ucx/credentials.h"

#include <algorithm>
#include <initializer_list>
#include <sodium.h>

#include "muster/base/assert.h"
#include "muster/comm/driver/zmq/user_key.h"

namespace muster::comm {
namespace {

static_assert(sizeof(UcxMac) == crypto_auth_hmacsha256_BYTES);

// Binds the key to its use: another use of the same secret gets another key.
constexpr std::string_view kPurpose = "muster ucx key, version 1";

const unsigned char* raw(ByteSpan bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
template <std::size_t size>
unsigned char* raw(std::array<std::byte, size>& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

template <class T>
ByteSpan bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

UcxMac hmac(const std::array<std::byte, 32>& key, std::initializer_list<ByteSpan> fields) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, raw(key), key.size());
  for (const ByteSpan field : fields) {
    // With its length, so that no two lists of fields look the same.
    const std::uint64_t length = field.size();
    crypto_auth_hmacsha256_update(&state, raw(bytes_of(length)), sizeof length);
    if (!field.empty()) crypto_auth_hmacsha256_update(&state, raw(field), field.size());
  }
  UcxMac mac;
  crypto_auth_hmacsha256_final(&state, raw(mac));
  return mac;
}

}  // namespace

Result<UcxCredentials> UcxCredentials::from(const Security& security, const std::string& group) {
  const int ready = sodium_init();
  MUSTER_ASSERT(ready >= 0, "libsodium can be used");
  std::string secret = security.secret;
  if (secret.empty() && !security.insecure) {
    auto key = user_key();
    if (!key) return fail(key.error());
    secret = *std::move(key);
  }
  std::array<std::byte, 32> key{};
  crypto_generichash(raw(key), key.size(), raw(as_bytes(secret)), secret.size(),
                     raw(as_bytes(kPurpose)), kPurpose.size());
  return UcxCredentials(key, group);
}

UcxMac UcxCredentials::challenge_mac(const UcxPassage& passage) const {
  return hmac(key_, {as_bytes("challenge"), as_bytes(group_), bytes_of(passage)});
}

UcxMac UcxCredentials::answer_mac(const UcxPassage& passage, const UcxNonce& answer) const {
  return hmac(key_, {as_bytes("answer"), as_bytes(group_), bytes_of(passage), answer});
}

UcxToken UcxCredentials::token(const UcxPassage& passage, const UcxNonce& answer) const {
  const UcxMac mac = hmac(key_, {as_bytes("token"), as_bytes(group_), bytes_of(passage), answer});
  UcxToken token;
  std::copy_n(mac.begin(), token.size(), token.begin());
  return token;
}

std::string UcxCredentials::seal(ByteSpan address) const {
  const UcxMac mac = hmac(key_, {as_bytes("address"), address});
  return std::string(as_text(mac)) + std::string(as_text(address));
}

std::optional<std::string> UcxCredentials::unseal(std::string_view sealed) const {
  const std::string_view address = sealed.substr(std::min(sizeof(UcxMac), sealed.size()));
  if (address.empty() || !same(as_bytes(seal(as_bytes(address))), as_bytes(sealed)))
    return std::nullopt;
  return std::string(address);
}

UcxNonce UcxCredentials::fresh_nonce() {
  UcxNonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

bool UcxCredentials::same(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster::comm
