#include "muster/comm/link/incoming.h"

#include <algorithm>
#include <utility>

#include "muster/base/assert.h"

namespace muster::comm {
namespace {

std::size_t data_bytes(const Frame& frame) { return frame.bytes() - kFrameHeaderBytes; }

}  // namespace

Incoming::Order Incoming::accept(const FrameHeader& header, Frame&& frame, TimePoint now) {
  if (header.seq < expected_ && !options_.faults.skip_deduplication) {
    ack_now_ = true;
    return Order::repeated;
  }
  if (header.seq > expected_) {
    if (options_.faults.ack_before_delivery_order) expected_ = header.seq + 1;
    // Asked once for each missing frame; if that is lost too, the sender's timer remains.
    gap_ = gap_reported_ != expected_;
    ack_now_ = ack_now_ || gap_;
    return Order::early;
  }
  expected_ = std::max(expected_, header.seq + 1);
  gap_ = false;
  ++frames_since_ack_;
  bytes_since_ack_ += data_bytes(frame);
  const std::size_t enough = std::min(options_.ack_bytes, options_.window_bytes / 4);
  if ((header.flags & FrameFlag::ack_wanted) != 0 || frames_since_ack_ >= options_.ack_frames ||
      bytes_since_ack_ >= enough) {
    ack_now_ = true;
  }
  owe_ack(now);
  held_.push_back({std::move(frame), header});
  return Order::next;
}

Incoming::Held Incoming::take(TimePoint now) {
  MUSTER_ASSERT(!held_.empty(), "only held frames are taken");
  Held held = std::move(held_.front());
  held_.pop_front();
  delivered_bytes_ += data_bytes(held.frame);
  if (credit() - credit_sent_ >= options_.window_bytes / 4) ack_now_ = true;
  owe_ack(now);
  return held;
}

void Incoming::owe_ack(TimePoint now) {
  if (!ack_at_) ack_at_ = now + options_.ack_delay;
}

void Incoming::ack_sent() {
  frames_since_ack_ = 0;
  bytes_since_ack_ = 0;
  credit_sent_ = credit();
  ack_now_ = false;
  ack_at_.reset();
  if (std::exchange(gap_, false)) gap_reported_ = expected_;
}

void Incoming::tick(TimePoint now) {
  if (ack_at_ && now >= *ack_at_) ack_now_ = true;
}

}  // namespace muster::comm
