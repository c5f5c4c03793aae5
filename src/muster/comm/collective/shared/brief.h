#pragma once

#include <algorithm>

#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Runs a plan of a single step, of which nothing is staged or lent, as `Stepped` does, and
/// computes less: at this size that is what a call costs. A plan has
///   Task task;
///   Parcel parcel;              // where it gives
///   bool gives;                 // whether this rank gives something
///   int needs_from, needs_to;   // it waits for the ranks in between
///   void give(); void take();
/// and, optionally,
///   void begin();               // what needs no other rank, done once this one has spoken
template <class Plan>
class Brief final : public Operation {
 public:
  Brief(Channel& channel, const Call& call) : plan_(channel, call) {}

  [[nodiscard]] const Signature& signature() const override { return plan_.task.signature; }
  [[nodiscard]] std::uint64_t position() const override { return plan_.task.first; }
  [[nodiscard]] int waits_for() const override {
    if (!given_) return plan_.task.channel.who_takes_room(position(), false);
    return seen_ < plan_.needs_to ? std::max(seen_, plan_.needs_from) : -1;
  }
  [[nodiscard]] bool awaits(int rank) const override {
    if (!given_) return !plan_.task.channel.has_finished(rank, position());  // for room
    return plan_.needs_from <= rank && rank < plan_.needs_to &&
           look_at(rank) == Channel::Look::nothing;
  }
  [[nodiscard]] bool is_lending() const override { return false; }

  // Looks again and again, mostly in one place.
  [[gnu::always_inline]] Progress advance() override {
    if (over_) return Progress::over;
    if (!given_ && !give()) return Progress::waiting;  // for room
    if (const Progress seen = look(); seen != Progress::over) return seen;
    plan_.take();
    end();
    return Progress::over;
  }

  Progress compare() override {
    const Progress compared = compare_with(plan_.task);
    if (compared == Progress::differs || !plan_.parcel.is_packed()) return compared;
    for (int rank = plan_.needs_from; rank < plan_.needs_to; ++rank) {
      if (!plan_.task.channel.is_elsewhere(rank, plan_.parcel, signature())) continue;
      other_ = rank;
      return Progress::differs;
    }
    return compared;
  }

 private:
  bool give() {
    Channel& channel = plan_.task.channel;
    if (!channel.may_say(plan_.task.first, false)) return false;
    if (plan_.gives) plan_.give();
    if (plan_.parcel.is_packed()) channel.tell_place(plan_.parcel);
    channel.say(plan_.task.first, plan_.task.signature);
    if (plan_.gives && plan_.parcel.is_packed()) channel.seal(plan_.parcel);
    given_ = true;
    news_ = true;
    if constexpr (requires { plan_.begin(); }) plan_.begin();
    if (plan_.gives && plan_.needs_to > 0) channel.pause_before_looking();
    return true;
  }

  [[nodiscard]] Channel::Look look_at(int rank) const {
    const Channel& channel = plan_.task.channel;
    // That a rank calls something else is seen in its line, see `compare`.
    if (plan_.parcel.is_packed())
      return channel.is_sealed(rank, plan_.parcel) ? Channel::Look::same : Channel::Look::nothing;
    return channel.look(rank, plan_.task.first, plan_.task.signature);
  }
  Progress look() {
    for (seen_ = std::max(seen_, plan_.needs_from); seen_ < plan_.needs_to; ++seen_) {
      if (seen_ == plan_.task.rank) continue;
      switch (look_at(seen_)) {
        case Channel::Look::same: continue;
        case Channel::Look::nothing: return Progress::waiting;
        case Channel::Look::differs: other_ = seen_; return Progress::differs;
      }
    }
    return Progress::over;
  }

  void end() {
    Channel& channel = plan_.task.channel;
    const std::uint64_t first = plan_.task.first;
    // Whoever spoke here had finished with all that lies further back than it may speak ahead.
    if (plan_.needs_to - plan_.needs_from == plan_.task.ranks && first > kAhead)
      channel.know_finished(first - kAhead);
    if ((first + 1) % kTellEvery == 0) channel.finish(first + 1);
    over_ = true;
    news_ = true;
    channel.move_to(first + 1);
    channel.move_past(plan_.parcel);
    channel.remember(plan_.task.signature);
    channel.note_call(plan_.gives);
  }

  Plan plan_;
  int seen_ = 0;  // ranks before this one have spoken
  bool given_ = false;
  bool over_ = false;
};

}  // namespace muster::comm::collective::shared
