#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "muster/base/clock.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/layout.h"
#include "muster/comm/collective/shared/pace.h"
#include "muster/comm/collective/shared/patience.h"
#include "muster/comm/collective/shared/segment.h"
#include "muster/comm/collective/shared/ways.h"

namespace muster::comm::collective::shared {

/// Where a call lies among those that are packed, the same on all ranks.
struct Parcel {
  std::size_t bytes = 0;
  std::size_t at = 0;
  std::size_t end = 0;  ///< 0: it is not there, but in the line
  /// Stands before the bytes once they are there: a hash of the call and its position, which bytes
  /// of earlier calls, that may have lain there, do not equal.
  std::uint64_t seal = 0;

  [[nodiscard]] bool is_packed() const { return end != 0; }
};

/// The calls with one tag, as one rank sees them: an endless row of steps, the same for all ranks.
/// At each step a rank may say something (a line, what is enclosed in it or packed behind others,
/// and up to `kStepBytes` of staging), see what others say, and say that it has finished. A line is
/// kept for `kRing` steps, staging for as many as there are slots (`use_slots`): who says more
/// waits until all have finished with what it replaces.
///
/// Only one thread at a time.
class Channel {
 public:
  /// `may_lend`: ranks can read each other's memory. `at_step`, if there is one, is called before
  /// anything is said; it outlives the channel. `ways` are the same on all ranks.
  Channel(Segment& segment, std::size_t index, Duration lease, bool may_lend = false,
          const std::function<void()>* at_step = nullptr, Ways ways = {});

  [[nodiscard]] Segment& segment() const { return segment_; }
  [[nodiscard]] int rank() const { return segment_.rank(); }
  [[nodiscard]] int ranks() const { return segment_.ranks(); }
  /// That a process has ended is known after milliseconds, mostly, and after its lease for certain.
  [[nodiscard]] Duration death_is_seen_within() const { return lease_; }

  /// Where the next call begins.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// A call begins that uses so many slots of staging; the same on all ranks.
  void use_slots(std::size_t slots) { slots_ = slots; }
  /// It is over.
  void move_to(std::uint64_t position) {
    position_ = position;
    if (slots_ == kFewSlots) few_end_ = position;
  }

  /// As `Signature::earlier` of the next call.
  [[nodiscard]] std::uint16_t earlier() const { return earlier_; }
  void remember(const Signature& signature) { earlier_ = earlier_after(signature); }

  /// A call is over; `gave` is whether others needed this rank for it.
  void note_call(bool gave) { takes_in_a_row_ = gave ? 0 : takes_in_a_row_ + 1; }
  /// This rank only takes, call after call: who gives to it waits for nobody. Then each look takes
  /// away the line that is being written, and steps are better taken several at a time.
  [[nodiscard]] bool streams() const { return takes_in_a_row_ > kStream; }

  [[nodiscard]] Pace& pace() { return pace_; }
  void pause_before_looking() const {
    for (int i = pace_.pauses_before(); i > 0; --i) pause_cpu();
  }

  /// Whether this rank may say something at a position, with staging or only in its line.
  [[nodiscard]] bool may_say(std::uint64_t position, bool staged = true) {
    const std::size_t ahead = staged ? slots_ahead(position) : kRing;
    return position < all_finished_ + ahead ||
           (look_who_finished(), position < all_finished_ + ahead);
  }
  [[nodiscard]] Line& line(std::uint64_t position) const { return own_->lines[position % kRing]; }
  [[nodiscard]] std::byte* staging(std::uint64_t position) const {
    return own_staging_ + position % slots_ * kSlotBytes;
  }
  void say(std::uint64_t position, const Signature& signature) {
    if (at_step_ != nullptr) [[unlikely]]
      (*at_step_)();
    Line& line = this->line(position);
    const auto words = std::bit_cast<SignatureWords>(signature);
    // Who sees one of the new words sees that the old stamp is gone, too.
    line.stamp.store(0, std::memory_order_relaxed);
    line.what.store(words[0], std::memory_order_release);
    line.count.store(words[1], std::memory_order_release);
    line.stamp.store(position + 1, std::memory_order_release);
    fetch_for_writing(this->line(position + 1).stamp);
    if (room_bytes_ > kNoteBytes) [[unlikely]]
      fetch_room(position + 1);
    room_bytes_ = 0;
  }

  enum class Look : std::uint8_t { nothing, same, differs };
  /// Whether a rank has said something at a position, and about the same call.
  [[nodiscard]] Look look(int rank, std::uint64_t position, const Signature& signature) const {
    const Line& line = this->line(rank, position);
    if (line.stamp.load(std::memory_order_acquire) != position + 1) return Look::nothing;
    const auto words = std::bit_cast<SignatureWords>(signature);
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
    return peers_[static_cast<std::size_t>(rank)].staging + position % slots_ * kSlotBytes;
  }

  /// Where this rank puts what it gives with its line, before it says so. The next step is taken
  /// to give as much.
  [[nodiscard]] std::byte* room(std::uint64_t position, std::size_t bytes) {
    room_bytes_ = bytes;
    return bytes <= kNoteBytes ? line(position).note
                               : own_->enclosures[enclosure_of(position)].bytes;
  }
  /// Where another rank put what it gives with its line.
  [[nodiscard]] const std::byte* enclosed(int rank, std::uint64_t position,
                                          std::size_t bytes) const {
    if (bytes <= kNoteBytes) return line(rank, position).note;
    const auto& enclosures = peers_[static_cast<std::size_t>(rank)].control->enclosures;
    return enclosures[enclosure_of(position)].bytes;
  }

  /// Where the next call gives its bytes, which fit into a line. In rooted calls nobody waits for
  /// the others, so one gives while another takes, and what counts is how many lines of cache go
  /// from core to core: their bytes lie right behind those of the call before. There is room for as
  /// many as one may be ahead. In other calls a line that two of them share would go twice.
  [[nodiscard]] Parcel pack(std::size_t bytes, const Signature& signature) const {
    if (!is_rooted(signature.operation)) return {.bytes = bytes};
    const std::size_t room = kSealBytes + (bytes + kSealBytes - 1) / kSealBytes * kSealBytes;
    const std::size_t at = packed_ + room <= kPackedBytes ? packed_ : 0;
    return {bytes, at, at + room, seal_of(position_, signature)};
  }
  /// The call is over.
  void move_past(const Parcel& parcel) {
    if (parcel.is_packed()) packed_ = parcel.end;
  }
  /// Where this rank puts the bytes, before it says so and seals them.
  [[nodiscard]] std::byte* room(const Parcel& parcel) {
    if (parcel.is_packed()) return own_packed(parcel.at) + kSealBytes;
    return room(position_, parcel.bytes);
  }
  [[nodiscard]] const std::byte* bytes_of(int rank, const Parcel& parcel) const {
    if (parcel.is_packed()) return packed(rank, parcel) + kSealBytes;
    return enclosed(rank, position_, parcel.bytes);
  }
  /// Puts into the line, before it is said, where this rank would put its bytes, given any or not.
  void tell_place(const Parcel& parcel) const {
    std::memcpy(line(position_).note, &parcel.at, sizeof parcel.at);
  }
  /// Whether a rank has said the same call and has its bytes elsewhere: it called something else
  /// before.
  [[nodiscard]] bool is_elsewhere(int rank, const Parcel& parcel,
                                  const Signature& signature) const {
    if (look(rank, position_, signature) != Look::same) return false;
    // Nobody writes this line again before this rank, too, has finished with the call.
    std::size_t at = 0;
    std::memcpy(&at, line(rank, position_).note, sizeof at);
    return at != parcel.at;
  }
  void seal(const Parcel& parcel) const {
    if (at_step_ != nullptr) [[unlikely]]
      (*at_step_)();
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(own_packed(parcel.at)))
        .store(parcel.seal, std::memory_order_release);
    const std::size_t next = parcel.end + kPackedAhead;
    for (std::size_t at = next; at < next + (parcel.end - parcel.at); at += kCacheLine)
      fetch_for_writing(*own_packed(at < kPackedBytes ? at : at - kPackedBytes));
  }
  [[nodiscard]] bool is_sealed(int rank, const Parcel& parcel) const {
    const auto* const seal =
        reinterpret_cast<const std::atomic<std::uint64_t>*>(packed(rank, parcel));
    return seal->load(std::memory_order_acquire) == parcel.seal;
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

  [[nodiscard]] bool has_finished(int rank, std::uint64_t position) const {
    if (segment_.has_left(rank)) return true;  // and reads nothing any more
    const auto& done = peers_[static_cast<std::size_t>(rank)].control->done;
    return done.steps.load(std::memory_order_acquire) >= position;
  }

  /// The first other rank that has not, or -1.
  [[nodiscard]] int who_has_not_finished(std::uint64_t position) const;
  /// The same, for those that this one waits for where `may_say` is false.
  [[nodiscard]] int who_takes_room(std::uint64_t position, bool staged) const;

  /// In which way blocks of so many bytes are given, where ranks need not find it out.
  [[nodiscard]] std::optional<Way> settled(collective::Operation operation,
                                           std::size_t block) const {
    const std::optional<Way> way = ways_.of(operation, block);
    return way == Way::lend && !may_lend_ ? Way::stage : way;
  }
  /// How a rank wants others to give, in calls of a kind.
  [[nodiscard]] Way wish(int rank, std::size_t kind) const {
    const auto& wishes = peers_[static_cast<std::size_t>(rank)].control->wishes;
    const std::uint8_t way = wishes.way[kind].load(std::memory_order_relaxed);
    return way == 0 ? usual_way(kind, may_lend_) : static_cast<Way>(way - 1);
  }
  /// A call of this kind, with blocks of so many bytes, is over, and this rank is its judge.
  void note(std::size_t kind, Way way, std::size_t block, Duration took) {
    contests_[kind].note(way, for_smallest(kind, block, took));
    const Way wanted = contests_[kind].wanted();
    if (wish(rank(), kind) != wanted)
      own_->wishes.way[kind].store(static_cast<std::uint8_t>(wanted) + 1,
                                   std::memory_order_relaxed);
  }

  /// Some memory, of devices and the like, only its own process can read, and nothing tells but
  /// trying. Who cannot read what a rank lends in the call that began at `first` declines it, and
  /// waits for the copy that it is lent instead.
  void decline(int rank, std::uint64_t first) const {
    own_->declined.loan.store(loan(rank, first), std::memory_order_release);
  }
  /// Whether another rank has declined what this one lends.
  [[nodiscard]] bool is_declined(std::uint64_t first) const {
    return std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.control->declined.loan.load(std::memory_order_acquire) == loan(rank(), first);
    });
  }
  /// Room for a copy, which `lend_copy` shows to the others; until `drop_copy`.
  [[nodiscard]] std::byte* copy_room(std::size_t bytes) {
    copy_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return copy_.get();
  }
  void lend_copy(std::uint64_t first) const {
    own_->declined.copy_at.store(reinterpret_cast<std::uint64_t>(copy_.get()),
                                 std::memory_order_relaxed);
    own_->declined.copied.store(loan(rank(), first), std::memory_order_release);
  }
  void drop_copy() { copy_.reset(); }
  /// Where the copy lies that a rank lends; 0 when there is none.
  [[nodiscard]] std::uint64_t copy_by(int rank, std::uint64_t first) const {
    const auto& declined = peers_[static_cast<std::size_t>(rank)].control->declined;
    if (declined.copied.load(std::memory_order_acquire) != loan(rank, first)) return 0;
    return declined.copy_at.load(std::memory_order_relaxed);
  }

  /// Where so many bytes of a rank are put before they are combined; until the next call.
  [[nodiscard]] std::byte* scratch(int rank, std::size_t bytes) {
    const std::size_t all = static_cast<std::size_t>(ranks()) * bytes;
    if (scratch_bytes_ < all) {
      scratch_ = std::make_unique_for_overwrite<std::byte[]>(all);
      scratch_bytes_ = all;
    }
    return scratch_.get() + static_cast<std::size_t>(rank) * bytes;
  }
  /// How all ranks do the next call of a kind, where they have to do the same; see `Pact`.
  [[nodiscard]] Way agreed(std::size_t kind) const { return agreed_[kind]; }
  void agree(std::size_t kind, Way way) { agreed_[kind] = way; }

 private:
  /// Others have copies of the line from the last time round: taking it back from them now hides
  /// what the next step would wait for.
  template <class Place>
  static void fetch_for_writing([[maybe_unused]] const Place& place) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(place));
#endif
  }

  [[nodiscard]] static std::size_t enclosure_of(std::uint64_t position) {
    return position * kEnclosuresApart % kRing;
  }
  void fetch_room(std::uint64_t position) const {
    const std::byte* const room = own_->enclosures[enclosure_of(position)].bytes;
    for (std::size_t at = 0; at < room_bytes_; at += kCacheLine) fetch_for_writing(room[at]);
  }

  [[nodiscard]] std::byte* own_packed(std::size_t at) const {
    return own_staging_ + kPackedStart + at;
  }
  [[nodiscard]] const std::byte* packed(int rank, const Parcel& parcel) const {
    return peers_[static_cast<std::size_t>(rank)].staging + kPackedStart + parcel.at;
  }

  /// By how many steps a rank may be ahead of one that still reads a slot. A call with few slots
  /// may have used this one half a turn ago.
  [[nodiscard]] std::size_t slots_ahead(std::uint64_t position) const {
    return position < few_end_ + kFewSlots ? kFewSlots : slots_;
  }

  [[nodiscard]] static std::uint64_t seal_of(std::uint64_t position, const Signature& signature) {
    const auto words = std::bit_cast<SignatureWords>(signature);
    std::uint64_t hash = (words[0] ^ position * 0x9e37'79b9'7f4a'7c15) * 0xd6e8'feb8'6659'fd93;
    hash = (hash ^ hash >> 32 ^ words[1]) * 0xa076'1d64'78bd'642f;
    return hash ^ hash >> 29;
  }

  /// What a rank lends in a call, as a number that is not used again.
  [[nodiscard]] static std::uint64_t loan(int rank, std::uint64_t first) {
    return (first + 1) * kMostRanks + static_cast<std::uint64_t>(rank);
  }

  static constexpr std::uint32_t kStream = 32;
  static constexpr std::size_t kCacheLine = 64;
  /// What is packed is fetched for writing so long before: a line takes several small calls to come
  /// from another core.
  static constexpr std::size_t kPackedAhead = 2 * kCacheLine;

  struct Peer {
    const ChannelControl* control;
    const std::byte* staging;
  };

  void look_who_finished();

  Segment& segment_;  // of the plane that owns this
  bool may_lend_;
  const std::function<void()>* at_step_;
  ChannelControl* own_;
  std::byte* own_staging_;
  std::vector<Peer> peers_;
  std::uint64_t position_ = 0;
  std::uint64_t all_finished_ = 0;
  std::size_t packed_ = 0;      // where the next parcel goes
  std::uint64_t few_end_ = 0;   // of the last call with few slots
  std::size_t slots_ = kSlots;  // of the call that is under way
  std::size_t room_bytes_ = 0;  // of what is about to be said
  std::uint32_t takes_in_a_row_ = 0;
  Pace pace_;
  std::uint16_t earlier_ = 0;
  std::array<Contest, kLoanKinds> contests_;
  std::array<Way, kLoanKinds> agreed_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<std::byte[]> copy_;  // of what is lent and cannot be read
  Duration lease_;
  Ways ways_;
};

}  // namespace muster::comm::collective::shared
