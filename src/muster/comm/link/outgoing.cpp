#include "muster/comm/link/outgoing.h"

#include <algorithm>
#include <utility>

#include "muster/base/assert.h"

namespace muster::comm {

bool Outgoing::offer(const Message& message, TimePoint now) {
  const std::size_t bytes = batch_bytes(message, self_);
  if ((outstanding_ != 0 && outstanding_ + bytes > options_.window_bytes) ||
      gathered_ >= options_.gathered_bytes) {
    flush();
    return false;
  }
  const bool after_a_pause = !last_offer_ || now - *last_offer_ >= options_.gather_below;
  last_offer_ = now;
  if (batch_.empty()) batch_began_ = now;
  batch_.add(message);
  outstanding_ += bytes;
  const bool alone = batch_.records() == 1;
  if ((alone && after_a_pause) || batch_.bytes() >= enough_ || now - batch_began_ >= options_.hold)
    flush();
  return true;
}

void Outgoing::flush() {
  if (batch_.empty()) return;
  const std::size_t bytes = batch_.bytes();
  FinishedBatch batch = batch_.finish();
  unacked_.push_back({.frame = std::move(batch.frame),
                      .header = batch.header,
                      .records = batch.records,
                      .seq = ++last_seq_,
                      .start = total_bytes_,
                      .end = total_bytes_ + bytes,
                      .stamped = false});
  total_bytes_ += bytes;
  gathered_ += unacked_.back().frame.head.size();
}

bool Outgoing::within_credit(const Numbered& numbered) const {
  if (options_.faults.ignore_credit) return true;
  // A frame larger than the peer's window may go when the peer has delivered everything before it.
  return numbered.end <= credit_ || numbered.start + peer_window_ <= credit_;
}

Outgoing::Numbered* Outgoing::next() {
  if (next_ == unacked_.size() || !within_credit(unacked_[next_])) return nullptr;
  return &unacked_[next_];
}

bool Outgoing::filling_up() const {
  return 2 * outstanding_ > options_.window_bytes || 2 * gathered_ > options_.gathered_bytes;
}

bool Outgoing::wants_ack(const Numbered& numbered) const {
  return filling_up() && numbered.end - ack_wanted_ >= ack_step_;
}

void Outgoing::handed_over(TimePoint now) {
  MUSTER_ASSERT(next_ < unacked_.size(), "only what next() returned is handed over");
  if (!unacked_[next_].stamped) {
    if (wants_ack(unacked_[next_])) ack_wanted_ = unacked_[next_].end;
    unacked_[next_].stamped = true;
  }
  if (next_ == 0) progress_ = now;
  handed_over_seq_ = std::max(handed_over_seq_, unacked_[next_].seq);
  ++next_;
}

void Outgoing::on_ack(std::uint64_t ack, std::uint64_t credit, bool gap, TimePoint now) {
  // An acknowledgement of what was never sent is not believed.
  if (ack > handed_over_seq_) return;
  credit_ = std::max(credit_, credit);
  bool progress = false;
  while (!unacked_.empty() && unacked_.front().seq <= ack) {
    outstanding_ -= static_cast<std::size_t>(unacked_.front().end - unacked_.front().start);
    gathered_ -= unacked_.front().frame.head.size();
    unacked_.pop_front();
    if (next_ > 0) --next_;
    progress = true;
  }
  if (progress) {
    progress_ = now;
    attempts_ = 0;
  }
  if (gap && !unacked_.empty() && unacked_.front().seq == ack + 1) rewind();
}

void Outgoing::rewind() {
  if (options_.faults.never_retransmit) return;
  next_ = 0;
}

TimePoint Outgoing::retransmit_at() const {
  const Duration wait = options_.retransmit_after * (std::uint64_t{1} << std::min(attempts_, 16u));
  return progress_ +
         std::min(wait, std::max(options_.retransmit_after, options_.retransmit_at_most));
}

void Outgoing::tick(TimePoint now) {
  if (!batch_.empty() && now - batch_began_ >= options_.hold) flush();
  if (next_ > 0 && now >= retransmit_at()) {
    rewind();
    progress_ = now;
    ++attempts_;
  }
}

Deadline Outgoing::next_wakeup() const {
  Deadline wakeup;
  if (!batch_.empty()) wakeup = batch_began_ + options_.hold;
  if (next_ > 0) wakeup = earlier(wakeup, retransmit_at());
  return wakeup;
}

std::vector<Message> Outgoing::unacknowledged() {
  flush();
  std::vector<Message> messages;
  RecordDecoder decoder(self_);
  for (const Numbered& numbered : unacked_) {
    const FrameHeader header{.kind = FrameKind::data, .source = self_, .records = numbered.records};
    FrameReader reader(numbered.frame, header, decoder);
    while (reader.next().value_or(false)) messages.push_back(std::move(reader.message()));
  }
  return messages;
}

}  // namespace muster::comm
