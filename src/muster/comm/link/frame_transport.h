#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/link/frame.h"

namespace muster::comm {

/// What a transport noticed about the way to a peer.
struct TransportEvent {
  enum class Kind : std::uint8_t {
    connected,     ///< frames can be sent; those sent before may be lost
    disconnected,  ///< it tries to connect again by itself
  };

  PeerId peer;
  Kind kind = Kind::connected;
};

/// Carries frames to peers and from anybody. It may lose, repeat, delay and reorder them: a
/// `LinkDriver` on top of it makes a driver out of that. Called as a driver is: with the proxy's
/// lock held, `ready` and `receive` only by the poller, `ready` without the lock.
class FrameTransport {
 public:
  virtual ~FrameTransport() = default;

  /// The driver's name.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// What peers need to send to us.
  [[nodiscard]] virtual std::string address() const = 0;

  /// Starts to connect; returns at once.
  virtual Result<void> connect(PeerId peer, const Entry& entry) = 0;
  /// Unknown peers are fine. A frame sent right before still has a fair chance to arrive.
  virtual void disconnect(PeerId peer) = 0;

  /// Takes the frame, or says false: there is no connection, and an event `connected` will tell
  /// when there is.
  virtual bool send(PeerId peer, const Frame& frame) = 0;
  /// The next frame that has arrived.
  [[nodiscard]] virtual std::optional<Frame> receive() = 0;
  /// Where the frame came from that `receive` returned last, for people.
  [[nodiscard]] virtual std::string last_sender() const = 0;
  [[nodiscard]] virtual std::optional<TransportEvent> next_event() = 0;
  /// When anything of the peer came last, also a part of a frame that is not whole yet; nothing
  /// where that cannot be told. A large frame on a slow line keeps all behind it waiting.
  [[nodiscard]] virtual std::optional<TimePoint> heard(PeerId /*peer*/) const {
    return std::nullopt;
  }
  /// Moves on what was sent and has not left, where somebody has to. Any thread, with the lock.
  virtual void flush() {}

  /// A guess whether `receive` would return something.
  [[nodiscard]] virtual bool ready() const = 0;
  /// Readable when `receive` or `next_event` may have something. After that, both are to be called
  /// until they have nothing.
  [[nodiscard]] virtual int data_fd() const { return -1; }
  /// When `receive` has something to do even if nothing arrives.
  [[nodiscard]] virtual Deadline next_wakeup() const { return std::nullopt; }

  /// Senders that failed to prove themselves before any frame of theirs got through.
  [[nodiscard]] virtual std::uint64_t strangers() const { return 0; }

  /// Idempotent. What was sent right before still has a fair chance to arrive.
  virtual void close() = 0;
};

}  // namespace muster::comm
