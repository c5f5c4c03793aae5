#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/message/message.h"

namespace muster::comm {

/// A record is everything about a message but its buffers and its two names: drivers write it into
/// a ring or a frame, put the buffers where it suits them, and know the names from the handshake.
/// The layout is specified in docs/internals/wire.md.

/// A longer tag is refused where the message is made; the decoder refuses it as malformed.
inline constexpr std::size_t kMaxTagBytes = 1024;
inline constexpr std::size_t kMaxBuffers = 4096;
inline constexpr std::size_t kMaxDimensions = 64;
/// No body is larger: lengths above this are absurd, and sums of such lengths cannot overflow.
inline constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{1} << 40;
/// No record is larger, whatever it holds.
inline constexpr std::size_t kMaxRecordBytes = 64 * 1024;

/// Says what about a message cannot be put on the wire.
[[nodiscard]] Result<void> check_encodable(const Message& message);

/// Whether that has nothing to say, as of most messages.
[[nodiscard]] inline bool plainly_encodable(const Message& message) {
  return message.tag.size() <= kMaxTagBytes && message.tag_origin.size() <= kMaxTagBytes &&
         message.body.buffer_count() == 1 && message.body.type() != BodyType::array &&
         message.body.size() <= kMaxBodyBytes;
}

/// How many bytes `encode_record` writes. `sender` is the instance whose ids need not be spelled
/// out.
[[nodiscard]] std::size_t record_bytes(const Message& message, InstanceId sender);

/// Writes exactly `record_bytes(message, sender)` bytes at `out`.
void encode_record(const Message& message, InstanceId sender, std::byte* out);

/// What a body will be once its buffers are there.
struct BodyLayout {
  BodyType body_type = BodyType::bytes;
  DType dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t first_bytes = 0;          ///< size of the body's first buffer
  std::vector<std::uint64_t> more_bytes;  ///< sizes of its further buffers

  [[nodiscard]] std::size_t buffer_count() const { return 1 + more_bytes.size(); }
  [[nodiscard]] std::uint64_t buffer_bytes(std::size_t index) const {
    return index == 0 ? first_bytes : more_bytes[index - 1];
  }
  [[nodiscard]] std::uint64_t total_bytes() const;
  /// Makes the body. The buffers have the announced sizes; `more` are those after the first.
  void fill(Body& body, Buffer&& first, std::vector<Buffer> more = {});
  /// The same with a copy of the only buffer.
  void fill_with_copy(Body& body, ByteSpan only);
};

/// A decoded record: the message without names and body, and what the body will be.
struct Record : BodyLayout {
  Message message;

  /// Puts the body in place, so that the message can be moved on.
  void complete(Buffer&& first, std::vector<Buffer> more = {}) {
    fill(message.body, std::move(first), std::move(more));
  }
  void complete_with_copy(ByteSpan only) { fill_with_copy(message.body, only); }
};

/// Reads the records of one sender. Every bound is checked; a bad record is `Errc::malformed` and
/// changes nothing. Remembers the last tag, which most often is the next one too, so that it is not
/// allocated again. Not thread-safe.
class RecordDecoder {
 public:
  explicit RecordDecoder(InstanceId sender) : sender_(sender) {}

  /// `bytes` is one whole record. It may lie where the sender can still change it: everything is
  /// read once, or copied before it is judged. What the message held before does not matter; its
  /// two names and its body are left as they are. On failure message and body are unspecified.
  [[nodiscard]] Result<void> decode(ByteSpan bytes, Message& message, BodyLayout& body);
  [[nodiscard]] Result<void> decode(ByteSpan bytes, Record& record) {
    return decode(bytes, record.message, record);
  }

  /// The length that the record starting at `bytes` claims; fails when it cannot fit into `bytes`.
  [[nodiscard]] static Result<std::size_t> length(ByteSpan bytes);

 private:
  InstanceId sender_;
  Name last_tag_;
  Name last_tag_origin_;
};

}  // namespace muster::comm
