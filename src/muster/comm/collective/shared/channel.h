#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/layout.h"
#include "muster/comm/collective/shared/segment.h"

namespace muster::comm::collective::shared {

/// The calls with one tag, as one rank sees them: an endless row of steps, the same for all ranks.
/// At each step a rank may say something (a line, and up to `kStepBytes` of staging), see what
/// others say, and say that it has finished. A line is kept for `kRing` steps, staging for
/// `kSlots`: who says more waits until all have finished with what it replaces.
///
/// Only one thread at a time.
class Channel {
 public:
  /// `at_step`, if there is one, is called before anything is said; it outlives the channel.
  Channel(Segment& segment, std::size_t index, const std::function<void()>* at_step = nullptr);

  [[nodiscard]] Segment& segment() const { return segment_; }
  [[nodiscard]] int rank() const { return segment_.rank(); }
  [[nodiscard]] int ranks() const { return segment_.ranks(); }

  /// Where the next call begins.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  void move_to(std::uint64_t position) { position_ = position; }

  /// As `Signature::earlier` of the next call.
  [[nodiscard]] std::uint16_t earlier() const { return earlier_; }
  void remember(const Signature& signature) { earlier_ = earlier_after(signature); }

  /// A call is over; `gave` is whether others needed this rank for it.
  void note_call(bool gave) { takes_in_a_row_ = gave ? 0 : takes_in_a_row_ + 1; }
  /// This rank only takes, call after call: who gives to it waits for nobody. Then each look takes
  /// away the line that is being written, and steps are better taken several at a time.
  [[nodiscard]] bool streams() const { return takes_in_a_row_ > kStream; }

  /// Whether this rank may say something at a position; `ahead` is `kSlots`, or, for who needs no
  /// staging, `kRing`.
  [[nodiscard]] bool may_say(std::uint64_t position, std::size_t ahead = kSlots) {
    return position < all_finished_ + ahead ||
           (look_who_finished(), position < all_finished_ + ahead);
  }
  [[nodiscard]] Line& line(std::uint64_t position) const { return own_->lines[position % kRing]; }
  [[nodiscard]] std::byte* staging(std::uint64_t position) const {
    return own_staging_ + position % kSlots * kSlotBytes;
  }
  void say(std::uint64_t position, const Signature& signature) const {
    if (at_step_ != nullptr) [[unlikely]]
      (*at_step_)();
    Line& line = this->line(position);
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(signature);
    // Who sees one of the new words sees that the old stamp is gone, too.
    line.stamp.store(0, std::memory_order_relaxed);
    line.what.store(words[0], std::memory_order_release);
    line.count.store(words[1], std::memory_order_release);
    line.stamp.store(position + 1, std::memory_order_release);
    fetch_for_writing(this->line(position + 1));
  }

  enum class Look : std::uint8_t { nothing, same, differs };
  /// Whether a rank has said something at a position, and about the same call.
  [[nodiscard]] Look look(int rank, std::uint64_t position, const Signature& signature) const {
    const Line& line = this->line(rank, position);
    if (line.stamp.load(std::memory_order_acquire) != position + 1) return Look::nothing;
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(signature);
    const bool same = line.what.load(std::memory_order_acquire) == words[0] &&
                      line.count.load(std::memory_order_acquire) == words[1];
    if (same) return Look::same;
    // A rank that is far ahead may be writing what it says a ring of steps later.
    const bool still = line.stamp.load(std::memory_order_relaxed) == position + 1;
    return still ? Look::differs : Look::nothing;
  }
  [[nodiscard]] const Line& line(int rank, std::uint64_t position) const {
    return peers_[static_cast<std::size_t>(rank)].control->lines[position % kRing];
  }
  [[nodiscard]] const std::byte* staging(int rank, std::uint64_t position) const {
    return peers_[static_cast<std::size_t>(rank)].staging + position % kSlots * kSlotBytes;
  }

  /// This rank needs nothing more of the steps before `position`.
  void finish(std::uint64_t position) const {
    own_->done.steps.store(position, std::memory_order_release);
  }
  /// All ranks are known to have finished with the steps before `position`.
  void know_finished(std::uint64_t position) {
    if (position > all_finished_) all_finished_ = position;
  }
  /// Whether all ranks have finished with the steps before `position`.
  [[nodiscard]] bool all_finished(std::uint64_t position) {
    return all_finished_ >= position || (look_who_finished(), all_finished_ >= position);
  }

  /// How a rank wants others to give, in calls of a kind.
  [[nodiscard]] Way wish(int rank, std::size_t kind) const {
    const auto& done = peers_[static_cast<std::size_t>(rank)].control->done;
    const bool unusual = (done.unusual.load(std::memory_order_relaxed) >> kind & 1) != 0;
    return unusual ? other(usual_way(kind)) : usual_way(kind);
  }
  [[nodiscard]] const Contest& contest(std::size_t kind) const { return contests_[kind]; }
  /// A call of this kind is over, and this rank is its judge.
  void note(std::size_t kind, Way way, Duration took) {
    contests_[kind].note(way, took);
    if (contests_[kind].wanted() != wish(rank(), kind))
      own_->done.unusual.fetch_xor(std::uint64_t{1} << kind, std::memory_order_relaxed);
  }

 private:
  /// Others have copies of the line from the last time round: taking it back from them now hides
  /// what the next step would wait for.
  static void fetch_for_writing([[maybe_unused]] const Line& line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(line.stamp));
#endif
  }

  static constexpr std::uint32_t kStream = 32;

  struct Peer {
    const ChannelControl* control;
    const std::byte* staging;
  };

  void look_who_finished();

  Segment& segment_;  // of the plane that owns this
  const std::function<void()>* at_step_;
  ChannelControl* own_;
  std::byte* own_staging_;
  std::vector<Peer> peers_;
  std::uint64_t position_ = 0;
  std::uint64_t all_finished_ = 0;
  std::uint32_t takes_in_a_row_ = 0;
  std::uint16_t earlier_ = 0;
  std::array<Contest, kLoanKinds> contests_;
};

}  // namespace muster::comm::collective::shared
