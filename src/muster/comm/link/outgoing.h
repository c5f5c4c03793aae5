#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/link/batch.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/link/link_options.h"

namespace muster::comm {

/// The sending half of a link: gathers messages into batches, numbers them, keeps them until they
/// are acknowledged, and hands them out again from the first unacknowledged one when some are lost
/// (go-back-N). A pure state machine.
class Outgoing {
 public:
  /// A numbered frame. Its header is written when it is handed over for the first time and never
  /// again.
  struct Numbered {
    Frame frame;
    std::byte* header = nullptr;
    std::uint32_t records = 0;
    std::uint64_t seq = 0;
    std::uint64_t start = 0;  // bytes of all frames before it
    std::uint64_t end = 0;
    bool stamped = false;
  };

  Outgoing(InstanceId self, const LinkOptions& options)
      : self_(self),
        options_(options),
        batch_(self),
        ack_step_(std::min(options.window_bytes, options.gathered_bytes) / 8),
        enough_(std::min(options.batch_bytes, options.window_bytes / 4)) {}

  /// False when the window is full; try again after progress.
  [[nodiscard]] bool offer(const Message& message, TimePoint now);
  /// Ends the batch that is being gathered.
  void flush();

  /// The next frame to hand over; null when there is none or it waits for credit.
  [[nodiscard]] Numbered* next();
  /// What `next` returned was handed over.
  void handed_over(TimePoint now);

  /// The first word about the peer's room.
  void open(std::uint64_t credit) {
    peer_window_ = credit_ = credit;
    enough_ = std::min<std::uint64_t>(enough_, credit / 4);
  }
  void on_ack(std::uint64_t ack, std::uint64_t credit, bool gap, TimePoint now);
  /// Everything that is not acknowledged is to be handed over again.
  void rewind();
  void tick(TimePoint now);
  [[nodiscard]] Deadline next_wakeup() const;

  [[nodiscard]] bool drained() const { return batch_.empty() && unacked_.empty(); }
  [[nodiscard]] bool gathering() const { return !batch_.empty(); }
  [[nodiscard]] bool waits_for_credit() const {
    return next_ == 0 && !unacked_.empty() && !within_credit(unacked_.front());
  }
  /// Whether this frame should be acknowledged at once, because the window is filling up. True for
  /// a few frames only: each ack answers for all before it.
  [[nodiscard]] bool wants_ack(const Numbered& numbered) const;
  [[nodiscard]] std::uint64_t last_seq() const { return last_seq_; }
  [[nodiscard]] std::size_t outstanding_bytes() const { return outstanding_; }

  /// Every message that is not acknowledged, in order, without names.
  [[nodiscard]] std::vector<Message> unacknowledged();

 private:
  [[nodiscard]] bool within_credit(const Numbered& numbered) const;
  [[nodiscard]] bool filling_up() const;
  [[nodiscard]] TimePoint retransmit_at() const;

  InstanceId self_;
  const LinkOptions& options_;  // the link's
  Batch batch_;
  std::size_t ack_step_;  // bytes between frames that ask for an ack
  std::size_t enough_;    // bytes at which a batch ends; several fit into either window
  TimePoint batch_began_;
  Deadline last_offer_;

  std::deque<Numbered> unacked_;
  std::size_t next_ = 0;  // index in `unacked_` of the next frame to hand over
  std::uint64_t last_seq_ = 0;
  std::uint64_t handed_over_seq_ = 0;  // highest ever handed over
  std::uint64_t total_bytes_ = 0;      // of all frames ever numbered
  std::size_t outstanding_ = 0;
  std::size_t gathered_ = 0;      // of those, bytes in the first parts of numbered frames
  std::uint64_t ack_wanted_ = 0;  // `end` of the last frame that asked to be acknowledged at once
  std::uint64_t credit_ = 0;
  std::uint64_t peer_window_ = 0;

  TimePoint progress_;  // when an ack came last, or the first unacknowledged frame left
  unsigned attempts_ = 0;
};

}  // namespace muster::comm
