#include "muster/comm/driver/shm/frame_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

tl::unexpected<Error> malformed(std::string why) { return fail(Errc::malformed, std::move(why)); }

template <class T>
T value_at(ByteSpan bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Bytes from which buffers are taken one after the other.
struct Supply {
  ByteSpan left;
  std::shared_ptr<const void> owner;
  std::size_t alignment;

  Result<Buffer> take(std::uint64_t bytes) {
    if (bytes > left.size()) {
      return malformed(fmt::format("a buffer of {} bytes where {} are left", bytes, left.size()));
    }
    const ByteSpan view = left.first(bytes);
    left = left.subspan(std::min(round_up(bytes, alignment), left.size()));
    return owner ? Buffer::share(view, owner) : Buffer::copy_of(view);
  }
};

}  // namespace

Result<std::size_t> FrameReader::read(ByteSpan readable, BlockSource& blocks, Message& message) {
  if (readable.size() < sizeof(FrameHead)) return malformed("a frame without a head");
  const auto head = value_at<FrameHead>(readable, 0);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // it is not read again after the checks
  if (head.bytes < sizeof head || head.bytes % 8 != 0 || head.bytes > readable.size()) {
    return malformed(
        fmt::format("a frame says {} bytes where {} are left", head.bytes, readable.size()));
  }
  if (marks_short_frame(head.blocks)) [[likely]] {
    if (auto ok = short_frames_.read(readable.first(head.bytes), message); !ok)
      return fail(std::move(ok).error());
    return head.bytes;
  }
  const ByteSpan frame = readable.subspan(sizeof head, head.bytes - sizeof head);
  const auto length = frame.size() < 4 ? 0 : value_at<std::uint32_t>(frame, 0);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (length > std::min(frame.size(), kMaxRecordBytes)) {
    return malformed(fmt::format("a record says {} bytes where {} are left", length, frame.size()));
  }
  if (auto ok = decoder_.decode(frame.first(length), message, layout_); !ok)
    return fail(ok.error());
  auto read = head.blocks == 0 ? read_body(frame.subspan(length), message.body)
                               : read_body_with_blocks(
                                     frame.subspan(std::min(round_up(length, 8), frame.size())),
                                     head.blocks, blocks, message.body);
  if (!read) return fail(std::move(read).error());
  return head.bytes;
}

Result<void> FrameReader::read_body(ByteSpan rest, Body& body) {
  if (layout_.total_bytes() > rest.size()) {
    return malformed(
        fmt::format("a body of {} bytes where {} are left", layout_.total_bytes(), rest.size()));
  }
  if (layout_.more_bytes.empty()) {
    layout_.fill_with_copy(body, rest.first(layout_.first_bytes));
    return {};
  }
  Buffer first = Buffer::copy_of(rest.first(layout_.first_bytes));
  rest = rest.subspan(layout_.first_bytes);
  std::vector<Buffer> more;
  more.reserve(layout_.more_bytes.size());
  for (const std::uint64_t bytes : layout_.more_bytes) {
    more.push_back(Buffer::copy_of(rest.first(bytes)));
    rest = rest.subspan(bytes);
  }
  layout_.fill(body, std::move(first), std::move(more));
  return {};
}

Result<void> FrameReader::read_body_with_blocks(ByteSpan rest, std::uint32_t blocks,
                                                BlockSource& source, Body& body) {
  const std::size_t buffers = layout_.buffer_count();
  const std::size_t places_at = blocks * sizeof(BlockReference);
  const std::size_t fixed = places_at + buffers * sizeof(std::uint16_t);
  if (blocks > kMaxBlocks || fixed > rest.size()) {
    return malformed(
        fmt::format("{} blocks for {} buffers in {} bytes", blocks, buffers, rest.size()));
  }
  std::vector<Supply> supplies;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    auto piece = source.piece(value_at<BlockReference>(rest, i));
    if (!piece) return fail(std::move(piece).error());
    supplies.push_back({piece->bytes, std::move(piece->owner), kAlignment});
  }
  Supply in_ring{rest.subspan(fixed), nullptr, 1};
  std::vector<Buffer> all;
  all.reserve(buffers);
  for (std::size_t i = 0; i < buffers; ++i) {
    const auto place = value_at<std::uint16_t>(rest.subspan(places_at), i);
    if (place != kInRing && place >= blocks) {
      return malformed(fmt::format("a buffer in block {} of {}", place, blocks));
    }
    auto buffer = (place == kInRing ? in_ring : supplies[place]).take(layout_.buffer_bytes(i));
    if (!buffer) return fail(std::move(buffer).error());
    all.push_back(*std::move(buffer));
  }
  Buffer first = std::move(all.front());
  all.erase(all.begin());
  layout_.fill(body, std::move(first), std::move(all));
  return {};
}

}  // namespace muster::comm::shm
