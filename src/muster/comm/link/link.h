#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/driver/driver.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/link/incoming.h"
#include "muster/comm/link/link_options.h"
#include "muster/comm/link/outgoing.h"

namespace muster::comm {

/// Who stands at the two ends of a link.
struct LinkEnds {
  InstanceId self;
  InstanceId peer;
  std::uint32_t epoch = 0;  ///< grows with every link that this proxy makes
  std::string hello;        ///< payload of our hello frames
};

/// One end of a link between two proxies over a transport that may lose, repeat, delay and reorder
/// frames: every message arrives once and in order while both live. A pure state machine: it has
/// neither clock nor I/O, times are arguments and never decrease. Not thread-safe.
///
/// Life: hello goes out until the peer answers, then data flows; a bye or silence ends it. After
/// silence it goes on where it was as soon as the peer is heard again.
class Link {
 public:
  enum class Verdict : std::uint8_t {
    taken,
    stale,      ///< dropped: repeated, or of an earlier link
    early,      ///< dropped: a frame before it is missing
    restarted,  ///< dropped: the peer has forgotten this link and offers a new one
  };

  /// What may end a link. The silence of an unreachable peer may end too.
  enum class State : std::uint8_t { opening, established, unreachable, left, dropped };

  Link(LinkEnds ends, const LinkOptions& options, TimePoint now);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// False when the window is full; try again after the peer's next frame.
  [[nodiscard]] bool offer(const Message& message, TimePoint now) {
    return out_.offer(message, now);
  }
  void flush() { out_.flush(); }

  /// The next frame for the transport; null when there is none. Stays the same until `handed_over`
  /// or a call that changes the link.
  [[nodiscard]] const Frame* next_frame();
  /// The transport took what `next_frame` returned.
  void handed_over(TimePoint now);

  /// A frame between these two instances, with the header that `decode_header` made from it.
  Verdict receive(const FrameHeader& header, Frame&& frame, TimePoint now);

  /// Received data frames to be delivered, in order.
  [[nodiscard]] bool holding() const { return in_.holding(); }
  [[nodiscard]] Incoming::Held take(TimePoint now) { return in_.take(now); }

  /// The transport has connected anew: what was on the way may be lost.
  void on_connected(TimePoint now);
  void on_disconnected(TimePoint now);
  /// A part of a frame came then, that is not whole yet: the peer lives.
  void on_part(TimePoint at) { alive_ = std::max(alive_, at); }

  /// Does what is due.
  void tick(TimePoint now);
  [[nodiscard]] Deadline next_wakeup() const;

  [[nodiscard]] State state() const;
  [[nodiscard]] bool drained() const { return out_.drained(); }
  [[nodiscard]] bool gathering() const { return out_.gathering(); }
  [[nodiscard]] std::uint32_t epoch() const { return ends_.epoch; }
  [[nodiscard]] Duration silence(TimePoint now) const { return now - alive_; }
  [[nodiscard]] std::size_t outstanding_bytes() const { return out_.outstanding_bytes(); }
  /// Every message that the peer has not acknowledged, in order, without names.
  [[nodiscard]] std::vector<Message> unacknowledged() { return out_.unacknowledged(); }

  /// The last frame of this end. The link is not to be used afterwards.
  [[nodiscard]] Frame farewell(bool leaving) const;

 private:
  enum class Handing : std::uint8_t { nothing, hello, data, repeated_data, ack, ping };

  [[nodiscard]] FrameHeader header(FrameKind kind) const;
  const Frame* hand(Handing what, Frame frame);
  const Frame* hand_data(Outgoing::Numbered& numbered);
  Verdict receive_hello(const FrameHeader& header, TimePoint now);
  void receive_bye(const FrameHeader& header);
  void hear(const FrameHeader& header, TimePoint now);
  void excuse_own_absence(TimePoint now);
  [[nodiscard]] Duration patience() const;
  [[nodiscard]] bool cut_off(TimePoint now) const;
  [[nodiscard]] TimePoint ping_at() const;

  LinkEnds ends_;
  LinkOptions options_;
  Outgoing out_;
  Incoming in_;

  std::uint32_t peer_epoch_ = 0;  // 0: nothing heard yet
  bool established_ = false;      // the peer knows our epoch and we know its
  bool connected_ = false;        // the transport vouches for the connection
  Deadline disconnected_at_;      // since when it says that there is none
  bool unreachable_ = false;
  std::optional<std::uint64_t> left_after_;  // the peer left after sending this frame
  bool dropped_ = false;

  bool hello_due_ = true;
  TimePoint hello_at_;
  Duration hello_wait_;
  bool ping_due_ = false;
  TimePoint pinged_;
  TimePoint heard_;  // a whole frame, which is what pings ask for
  TimePoint alive_;  // that, or a part of one, or later where this process was away meanwhile
  TimePoint ticked_;

  Handing handing_ = Handing::nothing;
  Frame control_;  // the hello, ack or ping that `next_frame` returned
};

}  // namespace muster::comm
