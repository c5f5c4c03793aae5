#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "muster/comm/driver/placing_sink.h"
#include "muster/comm/driver/shm/frame_reader.h"
#include "muster/comm/driver/shm/link_memory.h"
#include "muster/comm/driver/shm/packets.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm::shm {

/// The receiving end of a link: takes frames off the ring and makes messages of them. Large bodies
/// are not copied: they are read where the sender put them. Nothing that the sender writes is
/// trusted. Only with the proxy's lock held, but for `ready`.
class Inbound final : private BlockSource {
 public:
  Inbound(const Entry& sender, Name self, LinkMemory memory, RemoteDoorbell sender_doorbell,
          FileDescriptor socket);

  [[nodiscard]] const Name& name() const { return source_; }
  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }

  /// Something is in the ring that can be delivered now. Only by the poller.
  [[nodiscard]] bool ready() const {
    if (stuck_ || ring_.empty()) return false;
    ask_for_next_frame();
    return true;
  }
  /// Something is in the ring.
  [[nodiscard]] bool has_unread() const { return !ring_.empty(); }
  /// `drain` stopped before a message for whose memory no descriptor was free.
  [[nodiscard]] bool stuck() const { return stuck_; }
  void try_again() { stuck_ = false; }
  /// A sink, and the same where it has places for messages.
  struct Receiver {
    DriverSink* sink = nullptr;
    PlacingSink* places = nullptr;
  };
  /// Delivers up to `most` messages. A failure ends the link: what comes after a bad frame cannot
  /// be found. Returns early when `stopped` becomes true, which the sink may cause.
  [[nodiscard]] Result<std::size_t> drain(const Receiver& receiver, PeerId from, std::size_t most);
  /// What `drain` delivered before it failed.
  [[nodiscard]] std::size_t delivered() const { return delivered_; }

  /// Takes packets off the connection. `ended` when there will be no more, else `would_block` or
  /// `starved`.
  [[nodiscard]] Result<PacketStatus> read_packets();
  [[nodiscard]] Farewell farewell() const;

  /// Ends the link: what is in the ring is not delivered any more. Buffers stay valid.
  void close(Farewell farewell);
  [[nodiscard]] bool closed() const { return !socket_.valid(); }

 private:
  /// What buffers in the sender's memory need to give it back, also after the link is gone.
  struct Shared {
    LinkMemory memory;
    RemoteDoorbell sender_doorbell;
  };
  class Lease;

  /// Has the processor fetch the lines of a small frame all at once, and before the lock is taken:
  /// from another core each takes 0.1 to 0.3 us, and decoding would ask for one after the other.
  void ask_for_next_frame() const {
    for (std::size_t line = 0; line < 3; ++line) __builtin_prefetch(next_frame_ + 64 * line);
  }
  [[nodiscard]] Result<Piece> piece(const BlockReference& reference) override;
  [[nodiscard]] Result<std::shared_ptr<const Mapping>> segment(std::uint32_t id);
  void release();

  std::shared_ptr<Shared> shared_;
  RingReader ring_;
  FileDescriptor socket_;
  Name source_;
  Name destination_;
  FrameReader reader_;
  Message spare_;  // where messages are made for a sink that has no place for them
  std::unordered_map<std::uint32_t, std::shared_ptr<const Mapping>> segments_;
  const std::byte* next_frame_;  // in the ring, where the link memory is mapped
  std::size_t delivered_ = 0;
  Farewell farewell_ = Farewell::none;
  bool stopped_ = false;
  bool stuck_ = false;
};

}  // namespace muster::comm::shm
