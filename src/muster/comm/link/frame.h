#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/comm/message/ids.h"
#include "muster/comm/message/message.h"
#include "muster/comm/message/record.h"

namespace muster::comm {

/// A frame is what a link hands to a transport: a first part (header, records, small buffers), and
/// one further part per large buffer, which nobody copies. Immutable once handed over. The layout
/// is specified in docs/internals/wire.md.
struct Frame {
  Buffer head;
  std::vector<Buffer> parts;

  [[nodiscard]] std::size_t bytes() const;
};

enum class FrameKind : std::uint8_t {
  hello = 1,  ///< says who the sender is; repeated until it is answered
  data = 2,   ///< numbered, carries records, kept until acknowledged
  ack = 3,    ///< how far the sender has received, and how much it has room for
  ping = 4,   ///< to be answered with an ack
  bye = 5,    ///< the sender forgets this link
};

/// Bits of `FrameHeader::flags`.
struct FrameFlag {
  static constexpr std::uint16_t gap =
      1;  ///< on ack: something after `ack` is missing, send it again
  static constexpr std::uint16_t ack_wanted =
      2;  ///< on data: the sender is short of room, acknowledge at once
  static constexpr std::uint16_t leaving =
      4;  ///< on bye: the whole proxy leaves, after the data up to `seq`
};

/// The fixed part of a frame. Each side of a link numbers its links (`epoch`), so that frames of a
/// link that one side has given up are not taken for those of the next one.
struct FrameHeader {
  FrameKind kind = FrameKind::ack;
  std::uint16_t flags = 0;
  InstanceId source{};
  InstanceId destination{};
  std::uint32_t source_epoch = 0;
  std::uint32_t destination_epoch = 0;  ///< 0: not known yet
  std::uint64_t seq = 0;                ///< of data, from 1; of bye, the last one that was sent
  std::uint64_t ack = 0;                ///< all data up to here has arrived
  std::uint64_t credit =
      0;  ///< how many bytes of data the receiver of this frame may have sent in total
  std::uint32_t records = 0;
  std::uint32_t payload_bytes = 0;  ///< what follows the header in the first part

  bool operator==(const FrameHeader&) const = default;
};

inline constexpr std::size_t kFrameHeaderBytes = 64;
inline constexpr std::uint8_t kFrameVersion = 1;
/// Larger buffers travel as parts of their own. Below, a copy costs less than a part.
inline constexpr std::size_t kInlineBufferBytes = 4096;

void encode_header(const FrameHeader& header, std::byte* out);
/// A frame without records.
[[nodiscard]] Frame make_frame(FrameHeader header, ByteSpan payload = {});

/// Checks everything about the first part and the number of parts that does not need the records.
[[nodiscard]] Result<FrameHeader> decode_header(const Frame& frame);

/// Walks the records of a data frame. Every bound is checked. The frame outlives the reader;
/// messages share its memory where a copy would cost more.
class FrameReader {
 public:
  FrameReader(const Frame& frame, const FrameHeader& header, RecordDecoder& decoder);

  /// Reads the next message; false at the end. After a failure there is nothing more to read.
  [[nodiscard]] Result<bool> next();
  /// What `next` read, without names, to be moved from here: every move of a message costs.
  [[nodiscard]] Message& message() { return record_.message; }

 private:
  [[nodiscard]] Result<bool> finish_frame() const;
  [[nodiscard]] Result<void> read_body();
  [[nodiscard]] Result<Buffer> buffer(std::uint64_t bytes);

  const Frame& frame_;
  RecordDecoder& decoder_;
  ByteSpan rest_;
  std::uint32_t records_left_;
  std::size_t parts_used_ = 0;
  Record record_;
};

struct DecodedFrame {
  FrameHeader header;
  std::vector<Message> messages;
};

/// The whole frame at once, for tests and fuzzing: the same code as above.
[[nodiscard]] Result<DecodedFrame> decode_frame(const Frame& frame);

}  // namespace muster::comm
