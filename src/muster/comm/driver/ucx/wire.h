#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

// What travels over UCX: three kinds of messages, told apart by their first word. Little endian, no
// padding. docs/internals/wire.md describes them.

namespace muster::comm {

using UcxNonce = std::array<std::byte, 32>;
using UcxMac = std::array<std::byte, 32>;
using UcxToken = std::array<std::byte, 16>;

enum class UcxKind : std::uint32_t {
  challenge = 0x3143584D,  // "MXC1"
  answer = 0x3141584D,     // "MXA1"
  chunk = 0x3146584D,      // "MXF1"
};

/// Who goes where: the same in both messages of a handshake.
struct UcxPassage {
  std::uint64_t source = 0;       ///< instance that wants to send
  std::uint64_t destination = 0;  ///< instance that is to receive
  std::uint64_t way = 0;          ///< random, chosen by the sender
  UcxNonce nonce{};               ///< likewise

  bool operator==(const UcxPassage&) const = default;
};

struct UcxChallenge {
  UcxKind kind = UcxKind::challenge;
  std::uint32_t reserved = 0;
  UcxPassage passage;
  UcxMac mac{};
};
static_assert(sizeof(UcxChallenge) == 96);

struct UcxAnswer {
  UcxKind kind = UcxKind::answer;
  std::uint32_t reserved = 0;
  std::uint64_t way = 0;
  UcxNonce nonce{};  ///< of the receiver
  UcxMac mac{};
};
static_assert(sizeof(UcxAnswer) == 80);

/// A piece of a frame. The frame is: the sizes of its parts (8 bytes each), its head, its parts.
struct UcxChunk {
  UcxKind kind = UcxKind::chunk;
  std::uint32_t parts = 0;
  std::uint64_t way = 0;
  UcxToken token{};              ///< proves that the sender passed the handshake
  std::uint64_t frame = 0;       ///< counts the frames of this way
  std::uint64_t offset = 0;      ///< of this piece in the frame
  std::uint64_t head_bytes = 0;  ///< of the whole frame
  std::uint64_t total_bytes = 0;
};
static_assert(sizeof(UcxChunk) == 64);

static_assert(std::endian::native == std::endian::little,
              "messages are written as they lie in memory");

}  // namespace muster::comm
