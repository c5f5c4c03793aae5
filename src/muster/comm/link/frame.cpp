#include "muster/comm/link/frame.h"

#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr std::uint32_t kMagic = 0x5254534D;  // "MSTR"
constexpr std::uint16_t kKnownFlags = FrameFlag::gap | FrameFlag::ack_wanted | FrameFlag::leaving;
// A registry entry has at most 64 KiB; with the group around it a hello stays below this.
constexpr std::size_t kMaxHelloBytes = 128 * 1024;
constexpr std::size_t kSmallestRecord = 40;

// As it lies on the wire: little endian, no padding.
struct Wire {
  std::uint32_t magic;
  std::uint8_t version;
  std::uint8_t kind;
  std::uint16_t flags;
  std::uint64_t source;
  std::uint64_t destination;
  std::uint32_t source_epoch;
  std::uint32_t destination_epoch;
  std::uint64_t seq;
  std::uint64_t ack;
  std::uint64_t credit;
  std::uint32_t records;
  std::uint32_t payload_bytes;
};
static_assert(sizeof(Wire) == kFrameHeaderBytes);
static_assert(std::endian::native == std::endian::little,
              "headers are written as they lie in memory");

tl::unexpected<Error> malformed(std::string message) {
  return fail(Errc::malformed, std::move(message));
}

Result<void> check_wire(const Wire& wire, std::size_t head_bytes) {
  if (wire.magic != kMagic)
    return malformed(fmt::format("no frame: it begins with {:#010x}", wire.magic));
  if (wire.version != kFrameVersion) {
    return malformed(
        fmt::format("frame version {}; this side speaks {}", wire.version, kFrameVersion));
  }
  if (wire.kind < static_cast<std::uint8_t>(FrameKind::hello) ||
      wire.kind > static_cast<std::uint8_t>(FrameKind::bye)) {
    return malformed(fmt::format("unknown frame kind {}", wire.kind));
  }
  if ((wire.flags & ~kKnownFlags) != 0)
    return malformed(fmt::format("unknown frame flags {:#x}", wire.flags));
  if (wire.source == 0 || wire.destination == 0 || wire.source_epoch == 0)
    return malformed("a frame without a sender or a receiver");
  if (wire.payload_bytes != head_bytes - sizeof(Wire)) {
    return malformed(fmt::format("a frame says {} bytes and has {}", wire.payload_bytes,
                                 head_bytes - sizeof(Wire)));
  }
  return {};
}

Result<void> check_kind(const FrameHeader& header, std::size_t parts) {
  if (header.kind == FrameKind::data) {
    if (header.seq == 0 || header.destination_epoch == 0)
      return malformed("a data frame without a number or a link");
    if (header.records == 0 || header.records > header.payload_bytes / kSmallestRecord) {
      return malformed(fmt::format("{} records in {} bytes", header.records, header.payload_bytes));
    }
    return {};
  }
  if (header.records != 0 || parts != 0)
    return malformed("records or parts in a frame that has none");
  if (header.kind == FrameKind::hello) {
    if (header.payload_bytes > kMaxHelloBytes)
      return malformed(fmt::format("a hello of {} bytes", header.payload_bytes));
    return {};
  }
  if (header.payload_bytes != 0) return malformed("a payload in a frame that has none");
  return {};
}

}  // namespace

std::size_t Frame::bytes() const {
  std::size_t total = head.size();
  for (const Buffer& part : parts) total += part.size();
  return total;
}

void encode_header(const FrameHeader& header, std::byte* out) {
  const Wire wire{
      .magic = kMagic,
      .version = kFrameVersion,
      .kind = static_cast<std::uint8_t>(header.kind),
      .flags = header.flags,
      .source = header.source.value(),
      .destination = header.destination.value(),
      .source_epoch = header.source_epoch,
      .destination_epoch = header.destination_epoch,
      .seq = header.seq,
      .ack = header.ack,
      .credit = header.credit,
      .records = header.records,
      .payload_bytes = header.payload_bytes,
  };
  std::memcpy(out, &wire, sizeof wire);
}

Frame make_frame(FrameHeader header, ByteSpan payload) {
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> head(kFrameHeaderBytes + payload.size());
  encode_header(header, head.data());
  if (!payload.empty())
    std::memcpy(head.data() + kFrameHeaderBytes, payload.data(), payload.size());
  return {.head = Buffer::take(std::move(head)), .parts = {}};
}

Result<FrameHeader> decode_header(const Frame& frame) {
  Wire wire;
  if (frame.head.size() < sizeof wire)
    return malformed(fmt::format("{} bytes are too few for a frame", frame.head.size()));
  std::memcpy(&wire, frame.head.data(), sizeof wire);
  if (auto ok = check_wire(wire, frame.head.size()); !ok) return fail(std::move(ok).error());
  const FrameHeader header{
      .kind = static_cast<FrameKind>(wire.kind),
      .flags = wire.flags,
      .source = InstanceId(wire.source),
      .destination = InstanceId(wire.destination),
      .source_epoch = wire.source_epoch,
      .destination_epoch = wire.destination_epoch,
      .seq = wire.seq,
      .ack = wire.ack,
      .credit = wire.credit,
      .records = wire.records,
      .payload_bytes = wire.payload_bytes,
  };
  if (auto ok = check_kind(header, frame.parts.size()); !ok) return fail(std::move(ok).error());
  return header;
}

FrameReader::FrameReader(const Frame& frame, const FrameHeader& header, RecordDecoder& decoder)
    : frame_(frame),
      decoder_(decoder),
      rest_(frame.head.bytes().subspan(kFrameHeaderBytes)),
      records_left_(header.records) {}

Result<bool> FrameReader::next() {
  if (records_left_ == 0) return finish_frame();
  --records_left_;
  const auto length = RecordDecoder::length(rest_);
  if (!length) return fail(length.error());
  if (auto ok = decoder_.decode(rest_.first(*length), record_); !ok)
    return fail(std::move(ok).error());
  rest_ = rest_.subspan(*length);
  if (auto ok = read_body(); !ok) return fail(std::move(ok).error());
  return true;
}

Result<void> FrameReader::read_body() {
  const std::uint64_t size = record_.first_bytes;
  if (size <= Buffer::kInline && size <= rest_.size() && record_.more_bytes.empty()) {
    record_.complete_with_copy(rest_.first(size));
    rest_ = rest_.subspan(size);
    return {};
  }
  auto first = buffer(size);
  if (!first) return fail(std::move(first).error());
  std::vector<Buffer> more;
  more.reserve(record_.more_bytes.size());
  for (const std::uint64_t bytes : record_.more_bytes) {
    auto next = buffer(bytes);
    if (!next) return fail(std::move(next).error());
    more.push_back(*std::move(next));
  }
  record_.complete(*std::move(first), std::move(more));
  return {};
}

Result<bool> FrameReader::finish_frame() const {
  if (!rest_.empty()) return malformed(fmt::format("{} bytes after the last record", rest_.size()));
  if (parts_used_ != frame_.parts.size()) {
    return malformed(
        fmt::format("{} parts where the records announce {}", frame_.parts.size(), parts_used_));
  }
  return false;
}

Result<Buffer> FrameReader::buffer(std::uint64_t bytes) {
  if (bytes > kInlineBufferBytes) {
    if (parts_used_ == frame_.parts.size())
      return malformed(fmt::format("the part with {} bytes is missing", bytes));
    const Buffer& part = frame_.parts[parts_used_++];
    if (part.size() != bytes)
      return malformed(
          fmt::format("a part has {} bytes where {} are announced", part.size(), bytes));
    return part;
  }
  if (bytes > rest_.size())
    return malformed(fmt::format("a buffer of {} bytes where {} are left", bytes, rest_.size()));
  const ByteSpan contents = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  // A small buffer that shares the frame's memory keeps all of it alive, which is only worth it
  // when it is most of it.
  if (bytes <= Buffer::kInline || 2 * bytes < frame_.head.size()) return Buffer::copy_of(contents);
  return Buffer::share(contents, frame_.head.owner());
}

Result<DecodedFrame> decode_frame(const Frame& frame) {
  const auto header = decode_header(frame);
  if (!header) return fail(header.error());
  DecodedFrame decoded{.header = *header, .messages = {}};
  if (header->kind != FrameKind::data) return decoded;
  RecordDecoder decoder(header->source);
  FrameReader reader(frame, *header, decoder);
  while (true) {
    const auto more = reader.next();
    if (!more) return fail(more.error());
    if (!*more) return decoded;
    decoded.messages.push_back(std::move(reader.message()));
  }
}

}  // namespace muster::comm
