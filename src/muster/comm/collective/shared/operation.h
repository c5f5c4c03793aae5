#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "muster/base/result.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/loan.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

enum class Progress : std::uint8_t {
  waiting,  ///< for others
  over,
  differs,  ///< a rank called something else; `Operation::other` says which
  failed,   ///< the reduction function threw; the group has ended
};

/// A call on a channel, done bit by bit.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  /// Goes on as far as it can without waiting. Throws `ReductionFailed`, and is of no use then.
  virtual Progress advance() = 0;
  /// Looks for ranks that called something else where `advance` would wait for ever for each other
  /// (two ranks that both think the other is the root).
  [[nodiscard]] virtual Progress compare() = 0;
  [[nodiscard]] int other() const { return other_; }
  /// The rank that has to speak next; negative when it waits for nobody in particular.
  [[nodiscard]] virtual int waits_for() const = 0;
  /// The call, and its first step.
  [[nodiscard]] virtual const Signature& signature() const = 0;
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// How it differs, where the two calls by themselves do not tell.
  [[nodiscard]] const std::string& detail() const { return detail_; }
  /// Whether something was said or finished since the last call, for which others may sleep.
  [[nodiscard]] bool take_news() {
    moves_ += news_ ? 1 : 0;
    return std::exchange(news_, false);
  }
  /// Grows whenever there was news.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void set_failed() { failed_ = true; }

 protected:
  int other_ = -1;
  bool news_ = false;
  bool failed_ = false;
  std::uint64_t moves_ = 0;
  std::string detail_;
};

/// Steps a rank says ahead of the one that it waits for: hides how long others take to notice.
inline constexpr std::size_t kAhead = 4;

/// Of brief calls a rank tells only now and then that it has finished with them: who waits for room
/// watches the line of cache where that stands, and each word there would have to be fetched back.
inline constexpr std::size_t kTellEvery = 4;

/// Runs a plan: a call as `steps` steps, at each of which a rank may give something (`give`) and
/// take what others gave (`take`). A plan has
///   Task task; std::size_t steps;
///   bool gives;                 // whether this rank gives something
///   int needs_from, needs_to;   // it waits for the ranks in between, at every step
///   bool lends;                 // its own memory is given: it waits until all have taken
///   void give(std::size_t step); void take(std::size_t step);
/// and, optionally,
///   bool brief() const;         // a single step, of which nothing is lent
///   void begin();               // what needs no other rank, done once this one has spoken
///   Loan loan; Loan::Block block_of(int rank);  // `give` and `take` are for what is not lent
template <class Plan>
class Stepped final : public Operation {
 public:
  template <class... Arguments>
  explicit Stepped(Arguments&&... arguments) : plan_(std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Signature& signature() const override { return plan_.task.signature; }
  [[nodiscard]] std::uint64_t position() const override { return plan_.task.first; }
  [[nodiscard]] int waits_for() const override {
    return given_ > taken_ && seen_ < plan_.needs_to ? std::max(seen_, plan_.needs_from) : -1;
  }

  Progress advance() override {
    Channel& channel = plan_.task.channel;
    const std::uint64_t first = plan_.task.first;
    const std::size_t steps = plan_.steps;
    while (taken_ < steps) {
      while (given_ < steps && given_ <= taken_ + ahead()) {
        if (!say(channel, first + given_)) break;
        ++given_;
      }
      if (given_ == taken_) return Progress::waiting;  // for room
      const Progress seen = look(channel, first + taken_);
      if (seen != Progress::over) return seen;
      if (const Progress done = take(); done != Progress::over) return done;
      ++taken_;
      if (rest_is_silent()) given_ = taken_ = steps;
      if (tells(first + taken_)) channel.finish(first + taken_);
      news_ = true;
    }
    if (plan_.lends && !channel.all_finished(first + steps)) return Progress::waiting;
    if constexpr (kLoans) plan_.loan.end(others());
    channel.move_to(first + steps);
    channel.remember(plan_.task.signature);
    channel.note_call(plan_.gives);
    return Progress::over;
  }

  Progress compare() override {
    const Task& task = plan_.task;
    for (int rank = 0; rank < task.ranks; ++rank) {
      if (rank == task.rank ||
          task.channel.look(rank, task.first, task.signature) != Channel::Look::differs)
        continue;
      other_ = rank;
      return Progress::differs;
    }
    return Progress::waiting;
  }

 private:
  static constexpr bool kLoans = requires(Plan& plan) { plan.loan; };

  /// Whether this rank speaks at the first step only.
  [[nodiscard]] bool is_silent() const {
    if constexpr (kLoans) return !plan_.gives || plan_.loan.lends();
    return !plan_.gives;
  }
  [[nodiscard]] bool has_lent(int rank) const {
    if constexpr (kLoans) return plan_.loan.lent_by(rank);
    return false;
  }
  [[nodiscard]] bool any_lent() const {
    if constexpr (kLoans) return plan_.loan.lenders() > 0;
    return false;
  }
  /// From how many other ranks this one takes.
  [[nodiscard]] int others() const {
    const bool among = plan_.needs_from <= plan_.task.rank && plan_.task.rank < plan_.needs_to;
    return plan_.needs_to - plan_.needs_from - (among ? 1 : 0);
  }
  /// Whether all that concerns this rank is lent: there is nothing to do at later steps.
  [[nodiscard]] bool rest_is_silent() const {
    if constexpr (kLoans)
      return plan_.loan.is_open() && is_silent() && plan_.loan.lenders() == others();
    return false;
  }

  /// How many steps may be given before they are taken.
  static constexpr std::size_t ahead() {
    if constexpr (requires { Plan::waits_to_give; }) return 0;
    return kAhead;
  }

  bool brief() const {
    if constexpr (requires { plan_.brief(); }) return plan_.brief();
    return false;
  }
  /// Whether others have to know at once that this rank has finished with the steps before.
  bool tells(std::uint64_t position) const { return !brief() || position % kTellEvery == 0; }

  bool say(Channel& channel, std::uint64_t position) {
    // Of ranks that give nothing only the first step is of interest, and only when something is
    // wrong.
    if (given_ > 0 && is_silent()) return true;
    if (!channel.may_say(position, brief() ? kRing : kSlots)) return false;
    if (plan_.gives) give();
    channel.say(position, plan_.task.signature);
    if constexpr (requires { plan_.begin(); })
      if (given_ == 0) plan_.begin();
    news_ = true;
    return true;
  }

  void give() {
    if constexpr (kLoans) {
      if (given_ == 0) plan_.loan.say();
      if (plan_.loan.lends()) return;
    }
    plan_.give(given_);
  }

  Progress take() {
    if constexpr (kLoans) {
      if (taken_ == 0 && plan_.loan.is_open()) {
        const Progress read = after_reading(plan_.loan.take(plan_), plan_.loan.source());
        if (read != Progress::over) return read;
      }
    }
    if constexpr (std::is_void_v<decltype(plan_.take(taken_))>) {
      plan_.take(taken_);
      return Progress::over;
    } else {
      return after_reading(plan_.take(taken_), plan_.source);
    }
  }
  /// What is read out of another process may be gone with it.
  Progress after_reading(const Result<bool>& read, int source) {
    if (read) return *read ? Progress::over : Progress::waiting;
    other_ = source;
    detail_ = read.error().message();
    return Progress::differs;
  }

  Progress look(Channel& channel, std::uint64_t position) {
    for (; seen_ < plan_.needs_to; ++seen_) {
      if (seen_ < plan_.needs_from) seen_ = plan_.needs_from;
      if (seen_ == plan_.task.rank || has_lent(seen_)) continue;
      switch (channel.look(seen_, position, plan_.task.signature)) {
        case Channel::Look::same: continue;
        case Channel::Look::nothing: return Progress::waiting;
        case Channel::Look::differs: other_ = seen_; return Progress::differs;
      }
    }
    seen_ = 0;
    // Whoever spoke here had finished with all that lies further back than it may speak ahead.
    if (plan_.needs_to - plan_.needs_from == plan_.task.ranks && !any_lent() && position > kAhead)
      channel.know_finished(position - kAhead);
    return Progress::over;
  }

  Plan plan_;
  std::size_t given_ = 0;
  std::size_t taken_ = 0;
  int seen_ = 0;  // ranks before this one have spoken at this step
};

}  // namespace muster::comm::collective::shared
