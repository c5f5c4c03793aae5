#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/base/strong_id.h"
#include "muster/comm/discovery/entry.h"
#include "muster/comm/message/message.h"

namespace muster::comm {

/// A proxy's own number for one instance of one peer. Never used again for another.
using PeerId = StrongId<struct PeerIdTag, std::uint32_t>;

enum class Departure : std::uint8_t {
  graceful,  ///< it said goodbye
  lost,      ///< its end of the connection is closed for good
  reset,     ///< it lives, but has forgotten this connection; it may make a new one
  silent,  ///< it has not answered for longer than the lease; it may yet, and then goes on where it
           ///< was
};

/// Where a driver delivers. The proxy's router implements it.
class DriverSink {
 public:
  /// A peer that proved to be of this group knocks. The answer is the number under which its
  /// messages are to be delivered, or nothing when it is not wanted. The sink may call `connect` of
  /// the same driver before it returns.
  virtual std::optional<PeerId> on_hello(const Entry& peer) = 0;
  virtual void on_message(PeerId from, Message&& message) = 0;
  /// Everything that the peer had sent was delivered before. Called once per peer, but for
  /// `Departure::silent`, which may repeat after the peer was heard again. The sink may call
  /// `disconnect` of the same driver before it returns.
  virtual void on_departure(PeerId peer, Departure departure, const std::string& why) = 0;

 protected:
  ~DriverSink() = default;
};

enum class SendStatus : std::uint8_t {
  sent,  ///< the driver has it and will deliver it while both processes live
  full,  ///< the queue to this peer is full: try again after the next `poll`
  gone,  ///< the peer is not connected
};

/// Whether the receiver has room; when not, a driver keeps what has arrived where it is, so that
/// senders come to wait.
enum class Intake : bool { closed, open };

/// Memory that a driver lends for a body, so that sending it needs no copy.
struct WritableBuffer {
  std::span<std::byte> bytes;
  std::shared_ptr<void> owner;

  /// The finished contents. They must not be changed afterwards.
  [[nodiscard]] Buffer freeze() && { return Buffer::share(bytes, std::move(owner)); }
};

/// What a driver did not like, for metrics and tests.
struct DriverCounters {
  std::uint64_t malformed = 0;  ///< dropped: garbage, truncated, absurd lengths, newer versions
  std::uint64_t strangers = 0;  ///< dropped: senders that did not prove themselves
  std::uint64_t stale = 0;      ///< dropped: for or from an earlier instance, or repeated
};

/// Moves messages between this proxy and its peers, in order and at most once per pair of
/// instances. A driver is a state machine with I/O: it has no thread that calls back. All functions
/// but `ready` and `data_fd`/`control_fd` are called with the proxy's lock held; `ready` and `poll`
/// only by the one thread that is the poller at that time.
///
/// Wake-ups: a driver whose arrivals show on a file descriptor names it (`data_fd`); one whose
/// arrivals show in memory rings the `Doorbell` that it was given. `control_fd` is watched by the
/// proxy's background thread at all times (accepting, dying peers).
class Driver {
 public:
  virtual ~Driver() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What goes into `Entry::addresses[name()]`.
  [[nodiscard]] virtual std::string address() const = 0;

  /// Starts to connect; returns at once. Messages may be sent from then on.
  virtual Result<void> connect(PeerId peer, const Entry& entry) = 0;
  /// True once the peer has answered, where that is more than having connected.
  [[nodiscard]] virtual bool established(PeerId /*peer*/) const { return true; }
  /// Forgets the peer: what was not delivered to it is dropped. Unknown peers are fine.
  virtual void disconnect(PeerId peer) = 0;

  /// Before `disconnect`: the messages that are known not to have reached the peer, oldest first.
  [[nodiscard]] virtual std::vector<Message> take_undelivered(PeerId /*peer*/) { return {}; }

  /// Buffers that are only lent (Buffer::lend) are copied if they must outlive the call.
  virtual SendStatus send(PeerId peer, const Message& message) = 0;
  /// Whether `send` may hold messages back, so that `next_wakeup` changes with it.
  [[nodiscard]] virtual bool gathers() const { return false; }
  /// Hands over what was held back to be sent together.
  virtual void flush() = 0;
  /// True when nothing sent to `peer` is still on its way in this process or unacknowledged.
  [[nodiscard]] virtual bool drained(PeerId peer) const = 0;

  /// A guess, without a lock, whether `poll` would deliver something.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Delivers what has arrived, does what is due, and returns how many messages were delivered.
  virtual std::size_t poll(DriverSink& sink, Intake intake) = 0;
  /// When `poll` has something to do even if nothing arrives.
  [[nodiscard]] virtual Deadline next_wakeup() const { return std::nullopt; }

  [[nodiscard]] virtual int data_fd() const { return -1; }
  [[nodiscard]] virtual int control_fd() const { return -1; }
  virtual void on_control(DriverSink& /*sink*/) {}

  /// Memory from which `send` to any peer copies nothing, where the driver has such memory; else
  /// heap memory.
  [[nodiscard]] virtual Result<WritableBuffer> allocate(std::size_t bytes);

  [[nodiscard]] virtual DriverCounters counters() const { return {}; }

  /// Lets go of sockets and memory. Idempotent; the destructor calls it too. Does not wait: the
  /// proxy has waited for `drained`.
  virtual void close() = 0;
};

}  // namespace muster::comm
