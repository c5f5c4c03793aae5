#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace muster::comm::shm {

/// A number that is used once, from each side of a handshake.
using Nonce = std::array<char, 16>;
[[nodiscard]] Nonce fresh_nonce();

/// Who proves: so that a proof cannot be sent back to whom it came from.
enum class Role : char { caller = 'c', listener = 'l' };

/// Shows the other side that this one knows the secret, without showing the secret: a keyed hash
/// (BLAKE2b) over both nonces, the role, and what is claimed. Not encryption: what follows goes
/// through memory that only the two share.
class SecretProof {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit SecretProof(std::string_view secret);

  struct Handshake {
    Nonce caller{};
    Nonce listener{};
  };
  [[nodiscard]] std::string prove(Role role, const Handshake& handshake,
                                  std::initializer_list<std::string_view> claims) const;
  /// Whether `proof`, which came from outside, is what `prove` makes.
  [[nodiscard]] bool holds(std::string_view proof, Role role, const Handshake& handshake,
                           std::initializer_list<std::string_view> claims) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace muster::comm::shm
