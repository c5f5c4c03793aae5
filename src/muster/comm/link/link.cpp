#include "muster/comm/link/link.h"

#include <algorithm>
#include <utility>

#include "muster/base/assert.h"

namespace muster::comm {

Link::Link(LinkEnds ends, const LinkOptions& options, TimePoint now)
    : ends_(std::move(ends)),
      options_(options),
      out_(ends_.self, options_),
      in_(options_),
      hello_at_(now + options.hello_every),
      hello_wait_(options.hello_every),
      pinged_(now),
      heard_(now),
      alive_(now),
      ticked_(now) {
  MUSTER_ASSERT(ends_.epoch != 0, "epochs begin at 1");
}

Link::State Link::state() const {
  if (dropped_) return State::dropped;
  if (left_after_ && in_.ack() >= *left_after_) return State::left;
  if (unreachable_) return State::unreachable;
  return established_ ? State::established : State::opening;
}

FrameHeader Link::header(FrameKind kind) const {
  return {.kind = kind,
          .flags = 0,
          .source = ends_.self,
          .destination = ends_.peer,
          .source_epoch = ends_.epoch,
          .destination_epoch = peer_epoch_,
          .seq = 0,
          .ack = in_.ack(),
          .credit = in_.credit(),
          .records = 0,
          .payload_bytes = 0};
}

const Frame* Link::next_frame() {
  if (hello_due_)
    return hand(Handing::hello, make_frame(header(FrameKind::hello), as_bytes(ends_.hello)));
  if (established_) {
    if (Outgoing::Numbered* numbered = out_.next()) return hand_data(*numbered);
  }
  if (in_.ack_due() && peer_epoch_ != 0) {
    FrameHeader ack = header(FrameKind::ack);
    if (in_.gap()) ack.flags |= FrameFlag::gap;
    return hand(Handing::ack, make_frame(ack));
  }
  if (ping_due_ && established_) return hand(Handing::ping, make_frame(header(FrameKind::ping)));
  handing_ = Handing::nothing;
  return nullptr;
}

const Frame* Link::hand(Handing what, Frame frame) {
  handing_ = what;
  control_ = std::move(frame);
  return &control_;
}

const Frame* Link::hand_data(Outgoing::Numbered& numbered) {
  // Once a transport has a frame, its bytes must not change: what is sent again carries its old
  // ack, which harms nobody.
  handing_ = numbered.stamped ? Handing::repeated_data : Handing::data;
  if (!numbered.stamped) {
    FrameHeader data = header(FrameKind::data);
    if (out_.wants_ack(numbered)) data.flags |= FrameFlag::ack_wanted;
    data.seq = numbered.seq;
    data.records = numbered.records;
    data.payload_bytes = static_cast<std::uint32_t>(numbered.frame.head.size() - kFrameHeaderBytes);
    encode_header(data, numbered.header);
  }
  return &numbered.frame;
}

void Link::handed_over(TimePoint now) {
  switch (std::exchange(handing_, Handing::nothing)) {
    case Handing::nothing: break;
    case Handing::hello: hello_due_ = false; break;
    case Handing::data:
      out_.handed_over(now);
      if (!in_.gap()) in_.ack_sent();
      break;
    case Handing::repeated_data: out_.handed_over(now); break;
    case Handing::ack: in_.ack_sent(); break;
    case Handing::ping:
      ping_due_ = false;
      pinged_ = now;
      break;
  }
}

Link::Verdict Link::receive(const FrameHeader& header, Frame&& frame, TimePoint now) {
  if (header.kind == FrameKind::hello) return receive_hello(header, now);
  if (!options_.faults.ignore_epochs) {
    if (header.destination_epoch != ends_.epoch) return Verdict::stale;
    if (peer_epoch_ != 0 && header.source_epoch != peer_epoch_) return Verdict::stale;
  }
  if (peer_epoch_ == 0) peer_epoch_ = header.source_epoch;
  hear(header, now);
  switch (header.kind) {
    case FrameKind::data:
      switch (in_.accept(header, std::move(frame), now)) {
        case Incoming::Order::next: return Verdict::taken;
        case Incoming::Order::repeated: return Verdict::stale;
        case Incoming::Order::early: return Verdict::early;
      }
      break;
    case FrameKind::ping: in_.ack_now(); break;
    case FrameKind::bye: receive_bye(header); break;
    case FrameKind::hello:
    case FrameKind::ack: break;
  }
  return Verdict::taken;
}

Link::Verdict Link::receive_hello(const FrameHeader& header, TimePoint now) {
  if (header.source_epoch < peer_epoch_) return Verdict::stale;
  if (header.source_epoch > peer_epoch_) {
    // As long as nothing has passed between the two, the newer offer takes the place of the older
    // one. Without this, two ends that each begin anew on the other's hello would never meet.
    if (established_) return Verdict::restarted;
    peer_epoch_ = header.source_epoch;
    heard_ = alive_ = now;
  }
  if (header.destination_epoch == ends_.epoch) hear(header, now);
  in_.ack_now();
  return Verdict::taken;
}

void Link::hear(const FrameHeader& header, TimePoint now) {
  heard_ = alive_ = now;
  if (!cut_off(now)) unreachable_ = false;
  if (!established_) {
    established_ = true;
    hello_due_ = false;
    out_.open(header.credit);
    in_.ack_now();  // so that the peer learns that we know it
  }
  out_.on_ack(header.ack, header.credit, (header.flags & FrameFlag::gap) != 0, now);
}

void Link::receive_bye(const FrameHeader& header) {
  if ((header.flags & FrameFlag::leaving) != 0) {
    left_after_ = header.seq;
  } else {
    dropped_ = true;
  }
}

void Link::on_disconnected(TimePoint now) {
  connected_ = false;
  if (!disconnected_at_) disconnected_at_ = now;
}

void Link::on_connected(TimePoint now) {
  connected_ = true;
  disconnected_at_.reset();
  hello_due_ = true;
  if (!established_) hello_at_ = now + hello_wait_;
  out_.rewind();
}

Duration Link::patience() const {
  return connected_ && established_ ? options_.connected_lease : options_.lease;
}

// A peer that is heard and cannot be reached would keep what is sent to it waiting for ever.
bool Link::cut_off(TimePoint now) const {
  return disconnected_at_ && now - *disconnected_at_ > options_.lease;
}

TimePoint Link::ping_at() const {
  const TimePoint usual = std::max(heard_, pinged_) + options_.lease / 3;
  return out_.waits_for_credit() ? std::min(usual, pinged_ + options_.retransmit_after) : usual;
}

void Link::tick(TimePoint now) {
  out_.tick(now);
  in_.tick(now);
  if (!established_ && now >= hello_at_) {
    hello_due_ = true;
    hello_wait_ = std::min(2 * hello_wait_, options_.lease / 3);
    hello_at_ = now + hello_wait_;
  }
  if (established_ && now >= ping_at()) {
    ping_due_ = true;
    pinged_ = now;
  }
  excuse_own_absence(now);
  ticked_ = now;
  if (silence(now) > patience() || cut_off(now)) unreachable_ = true;
}

// A long time without a tick means that this process was away (stopped, or starved), not the peer:
// it counts as the usual time between two. No less, or a process that is starved again and again
// would never miss anybody.
void Link::excuse_own_absence(TimePoint now) {
  const Duration away = now - std::max(ticked_, alive_);
  if (away > options_.lease / 2) alive_ += away - options_.lease / 3;
}

Deadline Link::next_wakeup() const {
  Deadline wakeup = earlier(out_.next_wakeup(), in_.next_wakeup());
  wakeup = earlier(wakeup, established_ ? ping_at() : hello_at_);
  if (unreachable_) return wakeup;
  // One step later than the limit, because silence has to last longer than it.
  wakeup = earlier(wakeup, alive_ + patience() + Duration(1));
  if (disconnected_at_) wakeup = earlier(wakeup, *disconnected_at_ + options_.lease + Duration(1));
  return wakeup;
}

Frame Link::farewell(bool leaving) const {
  FrameHeader bye = header(FrameKind::bye);
  bye.seq = out_.last_seq();
  if (leaving) bye.flags |= FrameFlag::leaving;
  return make_frame(bye);
}

}  // namespace muster::comm
