#include "muster/comm/driver/shm/outbound.h"

#include <cstring>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/driver/shm/frame_reader.h"
#include "muster/comm/errc.h"
#include "muster/comm/message/record.h"

namespace muster::comm::shm {
namespace {

template <class T>
std::byte* put(std::byte* out, const T& value) {
  std::memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

std::byte* put(std::byte* out, const Buffer& buffer) {
  return copy_fresh(out, buffer.data(), buffer.size());
}

}  // namespace

Result<std::unique_ptr<Outbound>> Outbound::create(const Common& common, const Entry& peer,
                                                   std::string address, std::size_t ring_bytes) {
  auto memory = LinkMemory::create(ring_bytes);
  if (!memory) return fail(std::move(memory).error());
  return std::unique_ptr<Outbound>(
      new Outbound(common, peer, std::move(address), *std::move(memory)));
}

Outbound::Outbound(const Common& common, const Entry& peer, std::string address, LinkMemory memory)
    : common_(common),
      target_(peer.instance),
      target_name_(peer.name),
      address_(std::move(address)),
      slots_(std::make_shared<SlotTable>(std::move(memory))),
      ring_(slots_->memory().indices(), slots_->memory().ring(), slots_->memory().ring_bytes()) {}

Result<bool> Outbound::try_connect() {
  if (!socket_) {
    auto socket = connect_unix(address_);
    if (!socket && socket.error().code() == std::errc::resource_unavailable_try_again) return false;
    if (!socket) return fail(Errc::peer_connection, socket.error().message());
    const auto process = peer_process(*socket);
    if (!process || !may_connect(*process, ::geteuid())) {
      return fail(Errc::refused, "the socket belongs to another user");
    }
    socket_ = *std::move(socket);
  }
  if (common_.secret != nullptr) nonce_ = fresh_nonce();
  const PacketStatus status =
      common_.secret != nullptr ? send_knock(socket_, nonce_) : say_hello({});
  if (status == PacketStatus::would_block) return false;
  if (status == PacketStatus::ended) return fail(Errc::peer_connection, "it hung up");
  knocked_ = true;
  return true;
}

PacketStatus Outbound::say_hello(const Nonce& answered) {
  const std::string text =
      hello_text(common_.self, common_.group, target_, common_.doorbell.socket_name());
  const std::string proof = common_.secret == nullptr
                                ? ""
                                : common_.secret->prove(Role::caller, {nonce_, answered}, {text});
  const PacketStatus status =
      send_hello(socket_, text, proof, slots_->memory().file().get(), common_.doorbell.page_fd());
  if (status != PacketStatus::done) return status;
  said_hello_ = true;
  slots_->memory().file().reset();
  return status;
}

Result<void> Outbound::on_answer(const Answer& answer) {
  if (common_.secret == nullptr || said_hello_) {
    return fail(Errc::malformed, "an answer that nobody asked for");
  }
  const std::string instance = fmt::format("{:016x}", target_.value());
  if (!common_.secret->holds(answer.proof, Role::listener, {nonce_, answer.nonce},
                             {common_.group, instance})) {
    return fail(Errc::refused, "it does not know the secret: is MUSTER_SECRET the same?");
  }
  if (say_hello(answer.nonce) == PacketStatus::done) return {};
  return fail(Errc::peer_connection, "it could not be told who knocks");
}

SendStatus Outbound::send(const Message& message) {
  const InstanceId self = common_.self.instance;
  const bool small = message.body.size() <= common_.placer.inline_bytes();
  if (const std::size_t bytes = small ? short_frame_bytes(message, self) : 0; bytes != 0) [[likely]]
    return send_short(message, bytes);
  const std::size_t record = record_bytes(message, self);
  return small ? send_small(message, record) : send_large(message, record);
}

SendStatus Outbound::send_short(const Message& message, std::size_t bytes) {
  std::byte* const out = reserve(bytes);
  if (out == nullptr) return SendStatus::full;
  encode_short_frame(message, bytes, out);
  publish(bytes);
  return SendStatus::sent;
}

SendStatus Outbound::send_small(const Message& message, std::size_t record) {
  const Body& body = message.body;
  const std::size_t bytes = round_up(sizeof(FrameHead) + record + body.size(), 8);
  std::byte* out = reserve(bytes);
  if (out == nullptr) return SendStatus::full;
  out = put(out, FrameHead{.bytes = static_cast<std::uint32_t>(bytes), .blocks = 0});
  encode_record(message, common_.self.instance, out);
  out = put(out + record, body.buffer());
  for (std::size_t i = 1; i < body.buffer_count(); ++i) out = put(out, body.buffer(i));
  publish(bytes);
  return SendStatus::sent;
}

SendStatus Outbound::send_large(const Message& message, std::size_t record) {
  const Body& body = message.body;
  Placement& placement = common_.placer.plan(body);
  const std::size_t bytes = round_up(
      sizeof(FrameHead) + round_up(record, 8) + placement.piece_count() * sizeof(BlockReference) +
          body.buffer_count() * sizeof(std::uint16_t) + placement.ring_bytes,
      8);
  std::byte* out = reserve(bytes);
  if (out == nullptr) return SendStatus::full;
  if (!fits(placement) || !fill(body, placement) || !announce(placement)) return SendStatus::full;
  const auto blocks = static_cast<std::uint32_t>(placement.pieces.size());
  out = put(out, FrameHead{.bytes = static_cast<std::uint32_t>(bytes), .blocks = blocks});
  encode_record(message, common_.self.instance, out);
  out = put_pieces(out + round_up(record, 8), placement);
  for (std::size_t i = 0; i < body.buffer_count(); ++i) {
    if (placement.piece_of[i] == kInRing) out = put(out, body.buffer(i));
  }
  hint_at_scarcity();
  publish(bytes);
  under_way_.push_back({ring_.written(), placement.block_bytes});
  under_way_bytes_ += placement.block_bytes;
  return SendStatus::sent;
}

std::byte* Outbound::put_pieces(std::byte* out, Placement& placement) {
  for (Placement::Piece& piece : placement.pieces) {
    const std::uint32_t slot = slots_->take().value();
    out = put(out, BlockReference{.segment = piece.block->segment().id,
                                  .slot = slot,
                                  .offset = piece.offset,
                                  .bytes = piece.bytes});
    piece.block->lend(slots_, slot);
  }
  // Holding on to them would keep them from being used again.
  placement.pieces.clear();
  for (const std::uint16_t piece : placement.piece_of) out = put(out, piece);
  return out;
}

std::byte* Outbound::reserve(std::size_t bytes) {
  std::byte* out = ring_.reserve(bytes);
  if (out != nullptr) return out;
  retry_later_ = false;
  if (bytes > slots_->memory().ring_bytes()) {
    throw std::invalid_argument(
        fmt::format("[send] a record of {} bytes does not fit into a ring of {}", bytes,
                    slots_->memory().ring_bytes()));
  }
  ring_.await_room();
  return ring_.reserve(bytes);
}

void Outbound::publish(std::size_t bytes) {
  ring_.commit(bytes);
  if (doorbell_) doorbell_->ring_lightly();
}

// Whether the peer may get this much more before it has taken what is under way.
bool Outbound::fits(const Placement& placement) {
  const auto room = [&] {
    const std::uint64_t bytes = bytes_under_way();
    return bytes == 0 || bytes + placement.block_bytes <= common_.peer_bytes;
  };
  retry_later_ = false;
  if (!room()) {
    ring_.await_room();
    if (!room()) return false;
  }
  if (slots_->available() >= placement.piece_count()) return true;
  ring_.await_room();
  common_.placer.arena().reclaim();
  return slots_->available() >= placement.piece_count();
}

bool Outbound::fill(const Body& body, Placement& placement) {
  auto filled = common_.placer.fill(body, placement, Force::no);
  if (!filled && filled.error().is(Errc::would_block) && common_.nothing_under_way()) {
    filled = common_.placer.fill(body, placement, Force::yes);
  }
  if (filled) {
    complained_ = false;
    return true;
  }
  if (!filled.error().is(Errc::would_block) && !std::exchange(complained_, true)) {
    log(LogLevel::warning, "comm", "shm: a large message has to wait: {}",
        filled.error().message());
  }
  // Whoever lets go of a block may be in this process, and does not ring.
  retry_later_ = true;
  return false;
}

bool Outbound::announce(const Placement& placement) {
  for (const Placement::Piece& piece : placement.pieces) {
    const Segment& segment = piece.block->segment();
    if (announced_.contains(segment.id)) continue;
    if (!said_hello_ ||
        send_segment_opened(socket_, segment.id, segment.file.get()) != PacketStatus::done) {
      retry_later_ = true;
      return false;
    }
    announced_.insert(segment.id);
  }
  return true;
}

void Outbound::hint_at_scarcity() {
  const bool scarce = common_.placer.arena().scarce() || slots_->available() < kSlots / 2;
  slots_->memory().copy_please().store(scarce ? 1 : 0, std::memory_order_relaxed);
}

std::uint64_t Outbound::bytes_under_way() {
  if (under_way_.empty()) return 0;
  const std::uint64_t taken = ring_.released();
  while (!under_way_.empty() && under_way_.front().end <= taken) {
    under_way_bytes_ -= under_way_.front().bytes;
    under_way_.pop_front();
  }
  return under_way_bytes_;
}

void Outbound::welcome(RemoteDoorbell doorbell) {
  doorbell_ = std::move(doorbell);
  // The receiver may have gone to sleep on a ring that was filled since.
  doorbell_->ring();
}

void Outbound::retire(std::uint32_t segment) {
  if (announced_.erase(segment) != 0) unsent_retired_.push_back(segment);
  catch_up();
}

void Outbound::catch_up() {
  while (!unsent_retired_.empty() && socket_ &&
         send_segment_retired(socket_, unsent_retired_.back()) == PacketStatus::done) {
    unsent_retired_.pop_back();
  }
}

std::vector<Message> Outbound::undelivered() {
  // Blocks are copied: they go back to the arena with the link.
  struct OwnBlocks final : BlockSource {
    explicit OwnBlocks(const Arena& from) : arena(from) {}
    Result<Piece> piece(const BlockReference& reference) override {
      const Segment* const segment = arena.segment(reference.segment);
      if (segment == nullptr || reference.offset > segment->memory.size() ||
          reference.bytes > segment->memory.size() - reference.offset) {
        return fail(Errc::malformed, "a block that is not there");
      }
      return Piece{ByteSpan(segment->memory.bytes()).subspan(reference.offset, reference.bytes),
                   {}};
    }
    const Arena& arena;
  } blocks(common_.placer.arena());

  std::vector<Message> messages;
  FrameReader reader(common_.self.instance);
  ByteSpan left = ring_.untaken();
  while (!left.empty()) {
    Message message;
    const auto frame = reader.read(left, blocks, message);
    if (!frame) {
      // Only the receiver can have done that.
      log(LogLevel::warning, "comm", "shm: what was on its way is lost: {}",
          frame.error().message());
      break;
    }
    message.source = common_.self.name;
    message.destination = target_name_;
    messages.push_back(std::move(message));
    left = left.subspan(*frame);
  }
  return messages;
}

void Outbound::close(Farewell farewell, std::shared_ptr<const FileDescriptor> process) {
  if (farewell != Farewell::none) slots_->memory().say(farewell);
  if (socket_) send_farewell(socket_, farewell);
  if (!process && farewell == Farewell::none) slots_->abandon();
  slots_->detach(std::move(process));
  socket_.reset();
}

}  // namespace muster::comm::shm
