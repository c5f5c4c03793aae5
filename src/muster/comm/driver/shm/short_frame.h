#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/message/message.h"

namespace muster::comm::shm {

/// A frame for messages as most are: ids that the sender made and that fit, a tag without an
/// origin, and a body of one buffer that is no array. Lines of cache that go from one core to
/// another are what a small message costs, and this needs fewer: a message of 64 bytes with a short
/// tag lies in 88 bytes instead of 120. Head, tag, body and padding to 8 bytes follow each other.
struct ShortHead {
  std::uint32_t bytes;  ///< of the whole frame, as in a `FrameHead`
  std::uint8_t tag_bytes;
  std::uint8_t session;  ///< type in the low four bits, stage in the high four
  std::uint8_t body_type;
  std::uint8_t mark;  ///< `kShortMark` and the bytes of padding; 0 in a `FrameHead`
  std::uint32_t session_number;
  std::uint32_t message_number;
};
static_assert(sizeof(ShortHead) == 16);

inline constexpr std::uint8_t kShortMark = 0x80;

/// True for the word after the length when it belongs to a `ShortHead`.
[[nodiscard]] constexpr bool marks_short_frame(std::uint32_t word) { return word >> 31u != 0; }

/// How many bytes `encode_short_frame` writes; 0 for a message that it cannot encode.
[[nodiscard]] std::size_t short_frame_bytes(const Message& message, InstanceId sender);
void encode_short_frame(const Message& message, std::size_t bytes, std::byte* out);

/// Reads the short frames of one sender, which may change them meanwhile. Not thread-safe.
class ShortFrameReader {
 public:
  explicit ShortFrameReader(InstanceId sender) : sender_(sender) {}

  /// `frame` is all of it. Leaves the names as they are. On failure `message` is unspecified.
  [[nodiscard]] Result<void> read(ByteSpan frame, Message& message);

 private:
  InstanceId sender_;
  Name last_tag_;  // most often the next one too
};

}  // namespace muster::comm::shm
