#include "muster/comm/driver/shm/inbound.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

constexpr std::size_t kMaxSegments = 4096;

tl::unexpected<Error> bad_block(std::string why) { return fail(Errc::malformed, std::move(why)); }

}  // namespace

// Held by all buffers in one block; the last one gives the block back, from whatever thread.
class Inbound::Lease {
 public:
  Lease(std::shared_ptr<Shared> shared, std::shared_ptr<const Mapping> segment, std::uint32_t slot)
      : shared_(std::move(shared)), segment_(std::move(segment)), slot_(slot) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    // A child that inherited the buffer through fork does not speak for its parent.
    if (fork_generation() != made_in_) return;
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
  std::uint64_t made_in_ = fork_generation();
};

Inbound::Inbound(const Entry& sender, Name self, LinkMemory memory, RemoteDoorbell sender_doorbell,
                 FileDescriptor socket)
    : shared_(std::make_shared<Shared>(Shared{std::move(memory), std::move(sender_doorbell)})),
      ring_(shared_->memory.indices(), shared_->memory.ring(), shared_->memory.ring_bytes()),
      socket_(std::move(socket)),
      source_(sender.name),
      destination_(std::move(self)),
      reader_(sender.instance),
      next_frame_(shared_->memory.ring()) {}

Result<std::size_t> Inbound::drain(const Receiver& receiver, PeerId from, std::size_t most) {
  delivered_ = 0;
  while (delivered_ < most && !stopped_) {
    const ByteSpan readable = ring_.readable();
    if (readable.empty()) break;
    Message& message = receiver.places != nullptr ? receiver.places->place() : spare_;
    auto frame = reader_.read(readable, *this, message);
    stuck_ = !frame && frame.error().is(Errc::would_block);
    if (stuck_) break;
    if (!frame) return frame;
    message.source = source_;
    message.destination = destination_;
    // Before it is delivered: should this process die now, the sender must not take it for a
    // message that never arrived.
    ring_.consume(*frame);
    next_frame_ = readable.data() + *frame;
    if (ring_.unreleased() >= shared_->memory.ring_bytes() / 8) release();
    ++delivered_;
    receiver.sink->on_message(from, std::move(message));
  }
  if (ring_.broken()) return fail(Errc::malformed, "the ring's index makes no sense");
  if (ring_.unreleased() != 0) release();
  return delivered_;
}

void Inbound::release() {
  ring_.release();
  if (ring_.writer_to_be_told()) shared_->sender_doorbell.ring();
}

Result<BlockSource::Piece> Inbound::piece(const BlockReference& reference) {
  auto memory = segment(reference.segment);
  if (!memory) return fail(std::move(memory).error());
  const std::size_t size = (*memory)->size();
  if (reference.slot >= kSlots || reference.offset > size ||
      reference.bytes > size - reference.offset) {
    return bad_block(fmt::format("block {}+{} under slot {} in a segment of {} bytes",
                                 reference.offset, reference.bytes, reference.slot, size));
  }
  const ByteSpan view = ByteSpan((*memory)->bytes()).subspan(reference.offset, reference.bytes);
  auto lease = std::make_shared<const Lease>(shared_, *std::move(memory), reference.slot);
  if (shared_->memory.copy_please().load(std::memory_order_relaxed) == 0) {
    return Piece{view, std::move(lease)};
  }
  auto copy = std::make_shared_for_overwrite<std::byte[]>(view.size());
  if (!view.empty()) std::memcpy(copy.get(), view.data(), view.size());
  return Piece{{copy.get(), view.size()}, std::move(copy)};
}

Result<std::shared_ptr<const Mapping>> Inbound::segment(std::uint32_t id) {
  auto found = segments_.find(id);
  if (found == segments_.end()) {
    // It was announced before the frame was published, so it is there, even after the sender died.
    const auto read = read_packets();
    if (!read) return fail(read.error());
    found = segments_.find(id);
    if (found == segments_.end() && *read == PacketStatus::starved) {
      return fail(Errc::would_block, "no descriptor is free for the sender's memory");
    }
  }
  if (found == segments_.end()) return bad_block(fmt::format("unknown segment {}", id));
  return found->second;
}

Result<PacketStatus> Inbound::read_packets() {
  if (!socket_) return PacketStatus::ended;
  Packet raw;
  for (;;) {
    const PacketStatus status = receive_packet(socket_, kMaxPacketBytes, raw);
    if (status != PacketStatus::done) return status;
    auto packet = read_packet(std::move(raw));
    if (!packet) return fail(std::move(packet).error());
    if (const auto* farewell = std::get_if<Farewell>(&*packet)) {
      farewell_ = *farewell;
    } else if (const auto* retired = std::get_if<SegmentRetired>(&*packet)) {
      segments_.erase(retired->segment);
    } else if (const auto* opened = std::get_if<SegmentOpened>(&*packet)) {
      const auto bytes = memory_file_bytes(opened->memory.get());
      if (!bytes) return fail(bytes.error());
      if (segments_.size() >= kMaxSegments) return bad_block("too many segments");
      auto memory = Mapping::map(opened->memory.get(), *bytes, Populate::yes, Access::read_only);
      if (!memory) return fail(std::move(memory).error());
      segments_[opened->segment] = std::make_shared<const Mapping>(*std::move(memory));
    } else {
      return bad_block("a packet that does not belong here");
    }
  }
}

Farewell Inbound::farewell() const {
  return farewell_ != Farewell::none ? farewell_ : shared_->memory.farewell();
}

void Inbound::close(Farewell farewell) {
  if (socket_) send_farewell(socket_, farewell);
  socket_.reset();
  segments_.clear();
  stopped_ = true;
}

}  // namespace muster::comm::shm
