#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "muster/base/clock.h"
#include "muster/comm/link/frame.h"
#include "muster/comm/link/link_options.h"

namespace muster::comm {

/// The receiving half of a link: takes data frames in order and exactly once, keeps them until they
/// are delivered, and decides when to acknowledge. A pure state machine.
class Incoming {
 public:
  enum class Order : std::uint8_t {
    next,      ///< taken
    repeated,  ///< dropped: it was taken before
    early,     ///< dropped: one before it is missing
  };

  struct Held {
    Frame frame;
    FrameHeader header;
  };

  explicit Incoming(const LinkOptions& options) : options_(options) {}

  Order accept(const FrameHeader& header, Frame&& frame, TimePoint now);

  [[nodiscard]] bool holding() const { return !held_.empty(); }
  /// Takes the first frame off to be delivered, which makes room for others.
  [[nodiscard]] Held take(TimePoint now);

  [[nodiscard]] std::uint64_t ack() const { return expected_ - 1; }
  /// Rises only as frames are delivered, so a receiver that does not deliver stops its sender.
  [[nodiscard]] std::uint64_t credit() const { return delivered_bytes_ + options_.window_bytes; }

  void ack_now() { ack_now_ = true; }
  [[nodiscard]] bool ack_due() const { return ack_now_; }
  [[nodiscard]] bool gap() const { return gap_; }
  /// A frame with the present `ack`, `credit` and `gap` has left.
  void ack_sent();
  void tick(TimePoint now);
  [[nodiscard]] Deadline next_wakeup() const { return ack_now_ ? std::nullopt : ack_at_; }

 private:
  void owe_ack(TimePoint now);

  const LinkOptions& options_;  // the link's
  std::deque<Held> held_;
  std::uint64_t expected_ = 1;
  std::uint64_t delivered_bytes_ = 0;

  std::uint32_t frames_since_ack_ = 0;
  std::size_t bytes_since_ack_ = 0;
  std::uint64_t credit_sent_ = 0;
  bool ack_now_ = false;
  Deadline ack_at_;
  bool gap_ = false;
  std::uint64_t gap_reported_ = 0;  // for which `expected_` the peer was asked already
};

}  // namespace muster::comm
