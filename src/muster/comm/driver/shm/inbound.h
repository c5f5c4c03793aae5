#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/shm/link_memory.h"
#include "muster/comm/driver/shm/packets.h"
#include "muster/comm/message/record.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm::shm {

/// The receiving end of a link: takes frames off the ring and makes messages of them. Large bodies
/// are not copied: they are read where the sender put them. Nothing that the sender writes is
/// trusted. Only with the proxy's lock held, but for `ready`.
class Inbound {
 public:
  Inbound(const Entry& sender, Name self, LinkMemory memory, RemoteDoorbell sender_doorbell,
          FileDescriptor socket);

  [[nodiscard]] const Name& name() const { return source_; }
  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }

  /// Something is in the ring. Only by the poller.
  [[nodiscard]] bool ready() const { return !ring_.empty(); }
  /// Delivers up to `most` messages. A failure ends the link: what comes after a bad frame cannot
  /// be found. Returns early when `stopped` becomes true, which the sink may cause.
  [[nodiscard]] Result<std::size_t> drain(DriverSink& sink, PeerId from, std::size_t most);
  /// What `drain` delivered before it failed.
  [[nodiscard]] std::size_t delivered() const { return delivered_; }

  /// Takes packets off the connection. False when it has ended.
  [[nodiscard]] Result<bool> read_packets();
  [[nodiscard]] bool said_goodbye() const;

  /// Ends the link: what is in the ring is not delivered any more. Buffers stay valid.
  void close(Departure departure);
  [[nodiscard]] bool closed() const { return !socket_.valid(); }

 private:
  /// What buffers in the sender's memory need to give it back, also after the link is gone.
  struct Shared {
    LinkMemory memory;
    RemoteDoorbell sender_doorbell;
  };
  class Lease;

  // These leave the message in record_.
  [[nodiscard]] Result<void> read_frame(ByteSpan frame, std::uint32_t blocks);
  [[nodiscard]] Result<void> read_body(ByteSpan rest);
  [[nodiscard]] Result<void> read_body_with_blocks(ByteSpan rest, std::uint32_t blocks);
  struct Piece;
  [[nodiscard]] Result<Piece> take_piece(ByteSpan reference);
  [[nodiscard]] Result<std::shared_ptr<const Mapping>> segment(std::uint32_t id);
  void release();

  std::shared_ptr<Shared> shared_;
  RingReader ring_;
  FileDescriptor socket_;
  Name source_;
  Name destination_;
  RecordDecoder decoder_;
  Record record_;
  std::vector<std::byte> scratch_;
  std::unordered_map<std::uint32_t, std::shared_ptr<const Mapping>> segments_;
  std::size_t delivered_ = 0;
  bool goodbye_ = false;
  bool stopped_ = false;
};

}  // namespace muster::comm::shm
