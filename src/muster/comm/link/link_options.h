#pragma once

#include <cstddef>
#include <cstdint>

#include "muster/base/clock.h"

namespace muster::comm {

/// Bugs that the simulation plants to prove that it finds them. All are off outside such tests.
struct LinkFaults {
  bool skip_deduplication = false;  ///< delivers a repeated frame again
  bool never_retransmit = false;    ///< a lost frame stays lost
  bool ack_before_delivery_order =
      false;                   ///< acknowledges a frame that it dropped for being out of order
  bool ignore_epochs = false;  ///< takes frames of an earlier link between the same two instances
  bool ignore_credit = false;  ///< sends more than the receiver has room for
};

/// How a link behaves. The defaults suit a transport that loses frames; one that keeps them while
/// it is connected needs no retransmission in between.
struct LinkOptions {
  /// Bound of what is sent and not acknowledged, and of what is received and not delivered. One
  /// message may be larger when it is alone.
  std::size_t window_bytes = std::size_t{64} << 20;

  /// How long the peer may stay silent; pings make sure that a live one does not.
  Duration lease = std::chrono::seconds(3);
  /// The same while the transport vouches for the connection: a large message may keep a slow line
  /// busy for longer than the lease, and the pings queue behind it. For one that tells of every
  /// part of a message (`FrameTransport::heard`) the lease is enough.
  Duration connected_lease = std::chrono::seconds(30);

  Duration hello_every = std::chrono::milliseconds(50);  ///< doubles up to a third of the lease
  Duration retransmit_after = std::chrono::milliseconds(200);
  Duration retransmit_at_most = std::chrono::seconds(2);  ///< where the doubling of the above ends

  /// Messages that follow each other faster than this are gathered …
  Duration gather_below = std::chrono::microseconds(20);
  /// … for as long as this at most, …
  Duration hold = std::chrono::microseconds(300);
  /// … or until they are as many bytes.
  std::size_t batch_bytes = 64 * 1024;
  /// Bound of what is gathered, sent and not acknowledged, on top of `window_bytes`: a sender that
  /// runs further ahead with small messages only moves them out of the caches.
  std::size_t gathered_bytes = std::size_t{2} << 20;

  /// After so many received frames or bytes, or so much time, an ack goes out on its own. Each
  /// costs a few wake-ups on both sides.
  std::uint32_t ack_frames = 64;
  std::size_t ack_bytes = std::size_t{4} << 20;
  Duration ack_delay = std::chrono::milliseconds(3);

  LinkFaults faults;

  /// For transports that lose nothing while they are connected (TCP, UCX): a reconnect makes the
  /// link repeat at once, and repeating earlier would only fill a slow line with what is on its way
  /// already.
  [[nodiscard]] static LinkOptions for_lossless(std::size_t window, Duration silence) {
    LinkOptions options;
    options.window_bytes = window;
    options.lease = silence;
    options.connected_lease = silence;
    options.retransmit_after = 10 * silence;
    options.retransmit_at_most = options.retransmit_after;
    return options;
  }
  /// The same where the transport ends a dead connection itself, within the lease and however large
  /// the message is that it carries: what is silent without being disconnected lives.
  [[nodiscard]] static LinkOptions for_watched(std::size_t window, Duration silence) {
    LinkOptions options = for_lossless(window, silence);
    options.connected_lease = 10 * silence;
    return options;
  }
};

}  // namespace muster::comm
