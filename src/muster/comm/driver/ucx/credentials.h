#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/driver/context.h"
#include "muster/comm/driver/ucx/wire.h"

namespace muster::comm {

/// What members of a group prove to each other: that they know its secret, or, where there is none,
/// that they are the same user of this host (zmq/user_key.h). With `insecure` everybody knows it.
/// Everything is bound to the group. HMAC-SHA256 with a key of its own for this purpose.
class UcxCredentials {
 public:
  [[nodiscard]] static Result<UcxCredentials> from(const Security& security,
                                                   const std::string& group);

  /// "I know the key, and these are the ends." Can be replayed, which only asks for an answer.
  [[nodiscard]] UcxMac challenge_mac(const UcxPassage& passage) const;
  /// "So do I, and yours is a fresh question."
  [[nodiscard]] UcxMac answer_mac(const UcxPassage& passage, const UcxNonce& answer) const;
  /// What the sender shows with everything it sends: only for these two nonces.
  [[nodiscard]] UcxToken token(const UcxPassage& passage, const UcxNonce& answer) const;
  /// An address with a proof that a member made it: UCX is not given others to read. Not bound to
  /// the group.
  [[nodiscard]] std::string seal(ByteSpan address) const;
  /// The address; nothing when no member made it.
  [[nodiscard]] std::optional<std::string> unseal(std::string_view sealed) const;

  [[nodiscard]] static UcxNonce fresh_nonce();
  [[nodiscard]] static bool same(ByteSpan a, ByteSpan b);

 private:
  UcxCredentials(std::array<std::byte, 32> key, std::string group)
      : key_(key), group_(std::move(group)) {}

  std::array<std::byte, 32> key_;
  std::string group_;
};

}  // namespace muster::comm
