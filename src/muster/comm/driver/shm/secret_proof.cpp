#include "muster/comm/driver/shm/secret_proof.h"

#include <cstdint>
#include <cstring>
#include <sodium.h>

#include "muster/base/assert.h"
#include "muster/base/random.h"

namespace muster::comm::shm {
namespace {

// Binds the key to its use: another use of the same secret gets another key.
constexpr std::string_view kPurpose = "muster shm proof, version 1";

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Nonce fresh_nonce() {
  const std::array<std::uint64_t, 2> numbers{secure_random_u64(), secure_random_u64()};
  Nonce nonce;
  std::memcpy(nonce.data(), numbers.data(), nonce.size());
  return nonce;
}

SecretProof::SecretProof(std::string_view secret) {
  const int ready = sodium_init();
  MUSTER_ASSERT(ready >= 0, "libsodium can be used");
  crypto_generichash(key_.data(), key_.size(), raw(secret), secret.size(), raw(kPurpose),
                     kPurpose.size());
}

std::string SecretProof::prove(Role role, const Handshake& handshake,
                               std::initializer_list<std::string_view> claims) const {
  std::string text(1, static_cast<char>(role));
  text.append(handshake.caller.data(), handshake.caller.size());
  text.append(handshake.listener.data(), handshake.listener.size());
  for (const std::string_view claim : claims) {
    // With its length, so that claims cannot be cut differently.
    const std::uint64_t size = claim.size();
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text.append(claim);
  }
  std::array<unsigned char, kBytes> proof{};
  crypto_generichash(proof.data(), proof.size(), raw(text), text.size(), key_.data(), key_.size());
  return {reinterpret_cast<const char*>(proof.data()), proof.size()};
}

bool SecretProof::holds(std::string_view proof, Role role, const Handshake& handshake,
                        std::initializer_list<std::string_view> claims) const {
  const std::string right = prove(role, handshake, claims);
  return proof.size() == right.size() &&
         sodium_memcmp(proof.data(), right.data(), right.size()) == 0;
}

}  // namespace muster::comm::shm
