#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/collective/call.h"

namespace muster::comm::collective {

/// Which message of a group this is: no two messages between two ranks have the same, as long as
/// fewer than 2^24 calls with one tag are between the oldest and the newest in flight.
struct Slot {
  std::uint16_t epoch = 0;     ///< counts the changes of the group's members
  std::uint8_t tag = 0;        ///< told apart by the caller, for calls from several threads
  std::uint32_t sequence = 0;  ///< of the call among those with its tag; 24 bits
  std::uint16_t step = 0;      ///< of the message among those of this call between these two ranks

  [[nodiscard]] constexpr std::uint64_t packed() const {
    return std::uint64_t{epoch} << 48 | std::uint64_t{tag} << 40 |
           std::uint64_t{sequence & 0xff'ffff} << 16 | step;
  }
  [[nodiscard]] static constexpr Slot unpack(std::uint64_t packed) {
    return {static_cast<std::uint16_t>(packed >> 48), static_cast<std::uint8_t>(packed >> 40),
            static_cast<std::uint32_t>(packed >> 16 & 0xff'ffff),
            static_cast<std::uint16_t>(packed)};
  }
  bool operator==(const Slot&) const = default;
};

/// What schedules run on: messages between the ranks of one group, found by slot and not by order
/// of arrival. Never blocks. Only from the thread that makes progress for the group; the group
/// says which.
class Wire {
 public:
  /// A transfer that was begun. Zero is none.
  using Token = std::uint64_t;

  virtual ~Wire() = default;

  /// Begins to send `data`, which stays unchanged until the transfer is over. The signature goes
  /// along and is compared at the other end.
  virtual Token send(int to, Slot slot, const Signature& signature, ByteSpan data) = 0;
  /// Begins to receive exactly `into.size()` bytes. A message of other length or signature ends the
  /// transfer with an error that names the rank and both calls.
  virtual Token receive(int from, Slot slot, const Signature& signature,
                        std::span<std::byte> into) = 0;
  /// Moves what can be moved now.
  virtual void progress() = 0;
  /// Whether the transfer is over: true means done, and the token is forgotten, as it is by an
  /// error (a rank that is lost, an expelled self, a call that differs).
  [[nodiscard]] virtual Result<bool> finished(Token token) = 0;
  /// Gives up a transfer that is not over: its memory is not touched after this returns.
  virtual void cancel(Token token) = 0;
};

}  // namespace muster::comm::collective
