#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "muster/comm/driver/driver.h"
#include "muster/comm/driver/shm/packets.h"
#include "muster/comm/driver/shm/placement.h"
#include "muster/comm/driver/shm/slot_table.h"
#include "muster/runtime/doorbell.h"

namespace muster::comm::shm {

/// The sending end of a link. Messages go into the ring from the start; the connection, over which
/// the receiver gets the ring, may still be waiting to be made. Only with the proxy's lock held,
/// but for `progressed`.
class Outbound {
 public:
  /// What all links of a driver have in common; outlives them.
  struct Common {
    const Entry& self;
    const std::string& group;
    const SecretProof* secret;  // absent without one
    Doorbell& doorbell;
    Placer& placer;
    std::size_t peer_bytes;
    /// True when no receiver has yet to take a large body: then the arena may grow beyond its
    /// limit, because waiting would be in vain.
    std::function<bool()> nothing_under_way;
  };

  [[nodiscard]] static Result<std::unique_ptr<Outbound>> create(const Common& common,
                                                                const Entry& peer,
                                                                std::string address,
                                                                std::size_t ring_bytes);

  /// Tries to connect and to say hello, or with a secret to knock. False: to be tried again.
  [[nodiscard]] Result<bool> try_connect();
  [[nodiscard]] bool connected() const { return knocked_ || said_hello_; }
  /// The receiver proves itself: says hello if it can. `Errc::refused` if it does not know the
  /// secret.
  [[nodiscard]] Result<void> on_answer(const Answer& answer);
  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }

  [[nodiscard]] SendStatus send(const Message& message);
  /// Why the last `send` was `full`: only time will tell when it is not any more, nobody rings.
  [[nodiscard]] bool retry_later() const { return retry_later_; }

  /// The receiver has mapped the ring: whatever is in it arrives as long as the receiver lives.
  [[nodiscard]] bool welcomed() const { return doorbell_.has_value(); }
  void welcome(RemoteDoorbell doorbell);

  /// A receiver that `send` waits for made progress since `note_progress`. Only by the poller.
  [[nodiscard]] bool progressed() const { return ring_.progress() != seen_progress_; }
  void note_progress() { seen_progress_ = ring_.progress(); }

  /// Asks to be told when the receiver takes something or lets go of a block.
  void await_progress() { ring_.await_room(); }
  /// Whether large bodies are under way that the receiver has not taken yet.
  [[nodiscard]] bool blocks_under_way() { return bytes_under_way() != 0; }
  /// Tells the receiver to let go of a segment.
  void retire(std::uint32_t segment);
  /// Does what could not be done before.
  void catch_up();

  /// The receiver's side of the ring makes no sense: nothing more can be sent.
  [[nodiscard]] bool broken() const { return ring_.broken(); }
  /// The messages that the receiver has not taken, oldest first.
  [[nodiscard]] std::vector<Message> undelivered();
  /// Ends the link. `process`, where known, says how long the receiver may go on reading blocks.
  void close(Farewell farewell, std::shared_ptr<const FileDescriptor> process);

 private:
  Outbound(const Common& common, const Entry& peer, std::string address, LinkMemory memory);

  [[nodiscard]] PacketStatus say_hello(const Nonce& answered);
  SendStatus send_short(const Message& message, std::size_t bytes);
  SendStatus send_small(const Message& message, std::size_t record);
  SendStatus send_large(const Message& message, std::size_t record);
  [[nodiscard]] std::byte* reserve(std::size_t bytes);
  void publish(std::size_t bytes);
  [[nodiscard]] bool fits(const Placement& placement);
  [[nodiscard]] bool fill(const Body& body, Placement& placement);
  [[nodiscard]] bool announce(const Placement& placement);
  std::byte* put_pieces(std::byte* out, Placement& placement);
  void hint_at_scarcity();
  [[nodiscard]] std::uint64_t bytes_under_way();

  struct UnderWay {
    std::uint64_t end;  // the ring's position after its frame
    std::uint64_t bytes;
  };

  const Common& common_;
  InstanceId target_;
  Name target_name_;
  std::string address_;
  std::shared_ptr<SlotTable> slots_;
  RingWriter ring_;
  FileDescriptor socket_;
  std::optional<RemoteDoorbell> doorbell_;
  std::deque<UnderWay> under_way_;
  std::uint64_t under_way_bytes_ = 0;
  std::unordered_set<std::uint32_t> announced_;
  std::vector<std::uint32_t> unsent_retired_;
  std::uint32_t seen_progress_ = 0;
  Nonce nonce_{};
  bool knocked_ = false;
  bool said_hello_ = false;
  bool retry_later_ = false;
  bool complained_ = false;
};

}  // namespace muster::comm::shm
