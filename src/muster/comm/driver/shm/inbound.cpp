#include "muster/comm/driver/shm/inbound.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/driver/shm/frame.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

constexpr std::size_t kMaxSegments = 4096;

tl::unexpected<Error> malformed(std::string why) { return fail(Errc::malformed, std::move(why)); }

// One allocation instead of a vector's two.
Buffer copy_of(ByteSpan bytes) {
  if (bytes.size() <= Buffer::kInline) return Buffer::copy_of(bytes);
  auto owner = std::make_shared_for_overwrite<std::byte[]>(bytes.size());
  std::memcpy(owner.get(), bytes.data(), bytes.size());
  const std::span<std::byte> view(owner.get(), bytes.size());
  return Buffer::give(view, std::move(owner));
}

}  // namespace

// Held by all buffers in one block; the last one gives the block back, from whatever thread.
class Inbound::Lease {
 public:
  Lease(std::shared_ptr<Shared> shared, std::shared_ptr<const Mapping> segment, std::uint32_t slot)
      : shared_(std::move(shared)), segment_(std::move(segment)), slot_(slot) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    shared_->memory.slot(slot_).store(0, std::memory_order_seq_cst);
    RingIndices& indices = shared_->memory.indices();
    if (indices.writer_waits.load(std::memory_order_seq_cst) != 0 &&
        RingReader::tell_writer(indices)) {
      shared_->sender_doorbell.ring();
    }
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const Mapping> segment_;
  std::uint32_t slot_;
};

// A block that arrived, and how far its buffers have been found in it.
struct Inbound::Piece {
  ByteSpan bytes;
  std::shared_ptr<const Lease> lease;
  std::size_t next = 0;
};

Inbound::Inbound(const Entry& sender, Name self, LinkMemory memory, RemoteDoorbell sender_doorbell,
                 FileDescriptor socket)
    : shared_(std::make_shared<Shared>(Shared{std::move(memory), std::move(sender_doorbell)})),
      ring_(shared_->memory.indices(), shared_->memory.ring(), shared_->memory.ring_bytes()),
      socket_(std::move(socket)),
      source_(sender.name),
      destination_(std::move(self)),
      decoder_(sender.instance) {}

Result<std::size_t> Inbound::drain(DriverSink& sink, PeerId from, std::size_t most) {
  delivered_ = 0;
  while (delivered_ < most && !stopped_) {
    const ByteSpan readable = ring_.readable();
    if (readable.empty()) break;
    FrameHead head{};
    if (readable.size() >= sizeof head) std::memcpy(&head, readable.data(), sizeof head);
    if (head.bytes < sizeof head || head.bytes % 8 != 0 || head.bytes > readable.size()) {
      return malformed(
          fmt::format("a frame says {} bytes where {} are left", head.bytes, readable.size()));
    }
    const ByteSpan frame = readable.subspan(sizeof head, head.bytes - sizeof head);
    if (auto read = read_frame(frame, head.blocks); !read) return fail(std::move(read).error());
    ring_.consume(head.bytes);
    if (ring_.unreleased() >= shared_->memory.ring_bytes() / 8) release();
    ++delivered_;
    sink.on_message(from, std::move(record_.message));
  }
  if (ring_.broken()) return malformed("the ring's index makes no sense");
  release();
  return delivered_;
}

void Inbound::release() {
  if (ring_.unreleased() == 0) return;
  ring_.release();
  if (ring_.writer_to_be_told()) shared_->sender_doorbell.ring();
}

Result<void> Inbound::read_frame(ByteSpan frame, std::uint32_t blocks) {
  // Copied once, because the sender could change it between the checks and the use.
  std::uint32_t length = 0;
  if (frame.size() >= sizeof length) std::memcpy(&length, frame.data(), sizeof length);
  if (length > std::min(frame.size(), kMaxRecordBytes)) {
    return malformed(fmt::format("a record says {} bytes where {} are left", length, frame.size()));
  }
  if (scratch_.size() < length) scratch_.resize(length);
  std::memcpy(scratch_.data(), frame.data(), length);
  const ByteSpan record(scratch_.data(), length);
  if (auto decoded = decoder_.decode(record, record_); !decoded) return decoded;
  record_.message.source = source_;
  record_.message.destination = destination_;
  if (blocks == 0) return read_body(frame.subspan(length));
  // What follows the record is aligned.
  const std::size_t end = round_up(length, 8);
  if (end > frame.size()) return malformed("a frame that ends after its record");
  return read_body_with_blocks(frame.subspan(end), blocks);
}

Result<void> Inbound::read_body(ByteSpan rest) {
  if (record_.total_bytes() > rest.size()) {
    return malformed(
        fmt::format("a body of {} bytes where {} are left", record_.total_bytes(), rest.size()));
  }
  Buffer first = copy_of(rest.first(record_.first_bytes));
  if (record_.more_bytes.empty()) {
    record_.complete(std::move(first));
    return {};
  }
  rest = rest.subspan(record_.first_bytes);
  std::vector<Buffer> more;
  more.reserve(record_.more_bytes.size());
  for (const std::uint64_t bytes : record_.more_bytes) {
    more.push_back(copy_of(rest.first(bytes)));
    rest = rest.subspan(bytes);
  }
  record_.complete(std::move(first), std::move(more));
  return {};
}

Result<void> Inbound::read_body_with_blocks(ByteSpan rest, std::uint32_t blocks) {
  const std::size_t buffers = record_.buffer_count();
  const std::size_t fixed = blocks * sizeof(BlockReference) + buffers * 2;
  if (blocks > kMaxBlocks || fixed > rest.size()) {
    return malformed(
        fmt::format("{} blocks for {} buffers in {} bytes", blocks, buffers, rest.size()));
  }
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < blocks; ++i) {
    auto piece = take_piece(rest.subspan(i * sizeof(BlockReference)));
    if (!piece) return fail(std::move(piece).error());
    pieces.push_back(*std::move(piece));
  }
  const ByteSpan places = rest.subspan(blocks * sizeof(BlockReference), buffers * 2);
  rest = rest.subspan(fixed);
  const bool copy = shared_->memory.copy_please().load(std::memory_order_relaxed) != 0;
  std::vector<Buffer> all;
  all.reserve(buffers);
  for (std::size_t i = 0; i < buffers; ++i) {
    std::uint16_t place = 0;
    std::memcpy(&place, places.data() + 2 * i, sizeof place);
    const std::uint64_t bytes = record_.buffer_bytes(i);
    const bool in_ring = place == kInRing;
    if (!in_ring && place >= blocks) return malformed(fmt::format("block {} of {}", place, blocks));
    const ByteSpan left = in_ring ? rest : pieces[place].bytes.subspan(pieces[place].next);
    if (bytes > left.size()) {
      return malformed(fmt::format("a buffer of {} bytes where {} are left", bytes, left.size()));
    }
    const ByteSpan view = left.first(bytes);
    if (in_ring) {
      rest = rest.subspan(bytes);
    } else {
      Piece& piece = pieces[place];
      piece.next = std::min(piece.next + round_up(bytes, kAlignment), piece.bytes.size());
    }
    all.push_back(in_ring || copy ? copy_of(view) : Buffer::share(view, pieces[place].lease));
  }
  Buffer first = std::move(all.front());
  all.erase(all.begin());
  record_.complete(std::move(first), std::move(all));
  return {};
}

Result<Inbound::Piece> Inbound::take_piece(ByteSpan bytes) {
  BlockReference reference{};
  std::memcpy(&reference, bytes.data(), sizeof reference);
  auto memory = segment(reference.segment);
  if (!memory) return fail(std::move(memory).error());
  const std::size_t size = (*memory)->size();
  if (reference.slot >= kSlots || reference.offset > size ||
      reference.bytes > size - reference.offset) {
    return malformed(fmt::format("block {}+{} under slot {} in a segment of {} bytes",
                                 reference.offset, reference.bytes, reference.slot, size));
  }
  const ByteSpan view = ByteSpan((*memory)->bytes()).subspan(reference.offset, reference.bytes);
  return Piece{view, std::make_shared<Lease>(shared_, *std::move(memory), reference.slot), 0};
}

Result<std::shared_ptr<const Mapping>> Inbound::segment(std::uint32_t id) {
  auto found = segments_.find(id);
  if (found == segments_.end()) {
    // It was announced before the frame was published, so it is there, even after the sender died.
    if (const auto read = read_packets(); !read) return fail(read.error());
    found = segments_.find(id);
  }
  if (found == segments_.end()) return malformed(fmt::format("unknown segment {}", id));
  return found->second;
}

Result<bool> Inbound::read_packets() {
  if (!socket_) return false;
  Packet raw;
  for (;;) {
    const PacketStatus status = receive_packet(socket_, kMaxPacketBytes, raw);
    if (status != PacketStatus::done) return status == PacketStatus::would_block;
    auto packet = read_packet(std::move(raw));
    if (!packet) return fail(std::move(packet).error());
    if (std::holds_alternative<Goodbye>(*packet)) {
      goodbye_ = true;
    } else if (const auto* retired = std::get_if<SegmentRetired>(&*packet)) {
      segments_.erase(retired->segment);
    } else if (const auto* opened = std::get_if<SegmentOpened>(&*packet)) {
      const auto bytes = memory_file_bytes(opened->memory.get());
      if (!bytes) return fail(bytes.error());
      if (segments_.size() >= kMaxSegments) return malformed("too many segments");
      auto memory = Mapping::map(opened->memory.get(), *bytes, Populate::yes, Access::read_only);
      if (!memory) return fail(std::move(memory).error());
      segments_[opened->segment] = std::make_shared<const Mapping>(*std::move(memory));
    } else {
      return malformed("a packet that does not belong here");
    }
  }
}

bool Inbound::said_goodbye() const {
  return goodbye_ || shared_->memory.closed().load(std::memory_order_acquire) != 0;
}

void Inbound::close(Departure departure) {
  if (socket_ && departure == Departure::graceful) send_goodbye(socket_);
  socket_.reset();
  segments_.clear();
  stopped_ = true;
}

}  // namespace muster::comm::shm
