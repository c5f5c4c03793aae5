#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/loan.h"
#include "muster/comm/collective/shared/pact.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

enum class Progress : std::uint8_t {
  waiting,  ///< for others
  over,
  differs,  ///< a rank called something else; `Operation::other` says which
  failed,   ///< it cannot go on; `Operation::detail` says why
  lost,     ///< the same, because the process of a rank has ended, which `Operation::other` is
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
  /// The rank that has to speak next, or to read; negative when it waits for nobody in particular.
  [[nodiscard]] virtual int waits_for() const = 0;
  /// Whether it cannot go on before another rank has done something.
  [[nodiscard]] virtual bool awaits(int rank) const = 0;
  /// Whether others may be reading this rank's memory.
  [[nodiscard]] virtual bool is_lending() const = 0;
  /// Lends a copy to those who have declined what this rank lends.
  virtual void serve_readers() {}
  /// The call, and its first step.
  [[nodiscard]] virtual const Signature& signature() const = 0;
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// Why it failed; how it differs, where the two calls by themselves do not tell.
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
  Progress compare_with(const Task& task) {
    other_ = task.who_differs();
    return other_ < 0 ? Progress::waiting : Progress::differs;
  }

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
///   int only_reader() const;    // of what is lent; negative: all are
///   Loan loan;                  // blocks may be lent: `give` is for what is not
///   Loan::Block block_of(int rank);  // as a whole: `take` is for what is not lent, either
///   std::size_t reads_at();     // the step at which that is read, if not the first
///   Pact pact;                  // ranks do the same call in one of three ways
template <class Plan>
class Stepped final : public Operation {
 public:
  template <class... Arguments>
  explicit Stepped(Arguments&&... arguments) : plan_(std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Signature& signature() const override { return plan_.task.signature; }
  [[nodiscard]] std::uint64_t position() const override { return plan_.task.first; }
  [[nodiscard]] int waits_for() const override {
    if (gone_ >= 0) return gone_;
    if (given_ > taken_) return seen_ < plan_.needs_to ? std::max(seen_, plan_.needs_from) : -1;
    const std::uint64_t next = plan_.task.first + given_;
    if (taken_ < plan_.steps) return plan_.task.channel.who_takes_room(next, !brief());
    return plan_.lends ? who_has_not_read(next) : -1;
  }
  [[nodiscard]] bool awaits(int rank) const override {
    const Channel& channel = plan_.task.channel;
    const std::uint64_t next = plan_.task.first + taken_;
    if (given_ == taken_) return !channel.has_finished(rank, next);  // for room, or for readers
    return plan_.needs_from <= rank && rank < plan_.needs_to &&
           look_at(rank, next) == Channel::Look::nothing;
  }
  [[nodiscard]] bool is_lending() const override { return plan_.lends && given_ > 0 && !over_; }

  Progress advance() override {
    if (over_) return Progress::over;
    if (gone_ >= 0 && !is_back()) return Progress::waiting;
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
      if (plan_.task.borrowed_in_vain()) return give_up_reading(plan_.task.rank);
      ++taken_;
      if (rest_is_silent()) given_ = taken_ = steps;
      if (tells(first + taken_)) channel.finish(first + taken_);
      news_ = true;
    }
    if (plan_.lends) [[unlikely]] {
      if (!all_have_read(first + steps)) return Progress::waiting;
      channel.drop_copy();
    }
    over_ = true;
    if constexpr (kLoans) plan_.loan.end();
    if constexpr (kPact) plan_.pact.end();
    channel.move_to(first + steps);
    channel.remember(plan_.task.signature);
    channel.note_call(plan_.gives);
    return Progress::over;
  }

  void serve_readers() override {
    Channel& channel = plan_.task.channel;
    if (!is_lending() || !channel.is_declined(plan_.task.first) ||
        channel.copy_by(plan_.task.rank, plan_.task.first) != 0)
      return;
    if constexpr (kLoans) plan_.loan.lend_copy();
    if constexpr (requires { plan_.lend_copy(); }) plan_.lend_copy();
    news_ = true;
  }

  Progress compare() override { return compare_with(plan_.task); }

 private:
  static constexpr bool kLoans = requires(Plan& plan) { plan.loan; };
  static constexpr bool kWholeBlocks = requires(Plan& plan) { plan.block_of(0); };
  /// Whether it may read memory of other processes.
  static constexpr bool kReads = kLoans || requires(Plan& plan) { plan.source(); };
  static constexpr bool kPact = requires(Plan& plan) { plan.pact; };

  /// What is known of memory that could not be read.
  struct Vain {
    int declined = -1;  // whose
    TimePoint until{};  // when the group should have ended, because a process has
  };
  struct Nothing {};

  static TimePoint steady_now() { return std::chrono::steady_clock::now(); }

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
  /// Whether all that concerns this rank is lent, and read: there is nothing to do at later steps.
  [[nodiscard]] bool rest_is_silent() const {
    if constexpr (kLoans)
      return plan_.loan.is_open() && is_silent() && plan_.loan.lenders() == others() &&
             (kWholeBlocks || others() == 0);
    return false;
  }

  [[nodiscard]] bool all_have_read(std::uint64_t end) {
    if constexpr (requires { plan_.only_reader(); })
      if (const int reader = plan_.only_reader(); reader >= 0)
        return plan_.task.channel.has_finished(reader, end);
    return plan_.task.channel.all_finished(end);
  }
  [[nodiscard]] int who_has_not_read(std::uint64_t end) const {
    const Channel& channel = plan_.task.channel;
    if constexpr (requires { plan_.only_reader(); })
      if (const int reader = plan_.only_reader(); reader >= 0)
        return channel.has_finished(reader, end) ? -1 : reader;
    return channel.who_has_not_finished(end);
  }
  /// At which step what others lend is read.
  [[nodiscard]] std::size_t reads_at() const {
    if constexpr (requires { plan_.reads_at(); }) return plan_.reads_at();
    return 0;
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
    if (!channel.may_say(position, !brief())) return false;
    if (plan_.gives) give();
    channel.say(position, plan_.task.signature);
    if constexpr (requires { plan_.begin(); })
      if (given_ == 0) plan_.begin();
    if (plan_.steps == 1 && plan_.gives && plan_.needs_to > 0) channel.pause_before_looking();
    news_ = true;
    return true;
  }

  void give() {
    if constexpr (kLoans) {
      if (given_ == 0) plan_.loan.say();
      if (plan_.loan.lends()) return;
    }
    plan_.give(given_);
    if constexpr (kPact)
      if (given_ == 0) plan_.pact.say();
  }

  Progress take() {
    if constexpr (kLoans) {
      if (taken_ == 0 && plan_.loan.is_open())
        plan_.loan.find_lenders(plan_.needs_from, plan_.needs_to);
      if constexpr (kWholeBlocks) {
        if (taken_ == reads_at() && plan_.loan.is_open())
          if (const Progress read = read_blocks(); read != Progress::over) return read;
      }
    }
    if constexpr (kPact)
      if (taken_ == 0) plan_.pact.hear();
    if constexpr (std::is_void_v<decltype(plan_.take(taken_))>) {
      plan_.take(taken_);
      return Progress::over;
    } else {
      const Result<void> read = plan_.take(taken_);
      return read ? Progress::over : after_vain_read(read.error(), plan_.source());
    }
  }
  // Not where small calls go by.
  [[gnu::noinline]] Progress read_blocks() {
    const Result<void> read = plan_.loan.take(plan_);
    return read ? Progress::over : after_vain_read(read.error(), plan_.loan.source());
  }
  /// Memory may be gone because its process is, or its owner gave up: then the group ends. Or
  /// nobody else can read it.
  Progress after_vain_read(const Error& error, int source) {
    if (error.code() == std::errc::bad_address && vain_.declined != source) return decline(source);
    const bool vanished = error.code() == std::errc::no_such_process ||
                          error.code() == std::errc::operation_not_permitted;
    // The background thread may be too busy to tell.
    if (vanished && plan_.task.channel.segment().has_ended(source)) {
      other_ = source;
      return Progress::lost;
    }
    if (vanished && vain_.until == TimePoint{}) return expect_end(source);
    detail_ = error.message();
    return Progress::failed;
  }
  Progress give_up_reading(int source) {
    gone_ = source;
    return Progress::waiting;
  }
  Progress decline(int source) {
    plan_.task.channel.decline(source, plan_.task.first);
    news_ = true;
    vain_.declined = source;
    return give_up_reading(source);
  }
  /// The process is about to end, and the group with it; or it has only lost its main thread.
  Progress expect_end(int source) {
    vain_.until = after(steady_now(), plan_.task.channel.death_is_seen_within());
    vain_.declined = -1;
    return give_up_reading(source);
  }
  /// Whether it is time to read again: there is a copy, or the group should have ended.
  [[gnu::cold]] bool is_back() {
    bool back = false;
    if constexpr (kReads)
      back = gone_ == vain_.declined ? plan_.task.channel.copy_by(gone_, plan_.task.first) != 0
                                     : vain_.until != TimePoint{} && steady_now() >= vain_.until;
    if (back) gone_ = -1;
    return back;
  }

  Channel::Look look_at(int rank, std::uint64_t position) const {
    return plan_.task.channel.look(rank, position, plan_.task.signature);
  }

  Progress look(Channel& channel, std::uint64_t position) {
    for (; seen_ < plan_.needs_to; ++seen_) {
      if (seen_ < plan_.needs_from) seen_ = plan_.needs_from;
      if (seen_ == plan_.task.rank || has_lent(seen_)) continue;
      switch (look_at(seen_, position)) {
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
  int seen_ = 0;   // ranks before this one have spoken at this step
  int gone_ = -1;  // whose memory could not be read: this waits for a copy or the group's end
  bool over_ = false;
  [[no_unique_address]] std::conditional_t<kReads, Vain, Nothing> vain_;
};

}  // namespace muster::comm::collective::shared
