#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/fork_guard.h"
#include "muster/base/result.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/choice.h"
#include "muster/comm/collective/door.h"
#include "muster/comm/collective/handle_state.h"
#include "muster/comm/collective/shared/channel.h"
#include "muster/comm/collective/shared/hold.h"
#include "muster/comm/collective/shared/operation.h"
#include "muster/comm/collective/shared/segment.h"
#include "muster/comm/collective/shared/tally.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/options.h"

namespace muster::comm::collective::shared {

/// Collectives of ranks on one host, through a segment that they share. Thread-safe.
///
/// Each tag has a lane: its calls in the order in which they were started. Whoever waits for one of
/// them holds the lane and carries on its first call; so does the background thread, through
/// `progress`, when nobody waits.
class SharedPlane : public std::enable_shared_from_this<SharedPlane> {
 public:
  struct Options {
    std::string group;  ///< for messages
    std::function<bool()> interrupted;
    std::function<void()> wake_background;  ///< there is a call that nobody may be waiting for
    std::function<void(std::function<void()>)> do_later;    ///< in the background
    std::function<void()> at_step;                          ///< as in GroupOptions
    bool lends = false;                                     ///< ranks can read each other's memory
    Duration lease = std::chrono::seconds(3);               ///< as in GroupOptions
    Ways ways = ChoiceTable::builtin().ways();              ///< the same on all ranks
    std::shared_ptr<Door> door = std::make_shared<Door>();  ///< keeps the group until it is closed
  };

  SharedPlane(std::shared_ptr<Segment> segment, Options options);
  ~SharedPlane();

  /// Whether calls with this tag can be done here; the same answer on all ranks.
  [[nodiscard]] Result<bool> takes(int tag);

  Result<void> run(const Call& call, int tag, Timeout timeout);
  /// The call is given up when it is not over after the timeout, whether anybody waits for it or
  /// not.
  [[nodiscard]] Result<std::shared_ptr<Handle::State>> start(Call call, int tag,
                                                             Timeout timeout = {});

  /// Carries on what was started and is not over. Returns whether anything is left.
  bool progress();
  /// Sleeps until another rank did something, or until the deadline.
  void doze(TimePoint until);

  /// Ends the group for all ranks, unless it has ended already.
  void break_for_all(Verdict verdict);
  /// The same, for a reason that takes words: all ranks get this error.
  void end_with(const Error& error);
  void lose(int rank);
  [[nodiscard]] bool broken() const { return segment_->is_broken(); }
  /// Why the group has ended; call only when it has. The same text every time.
  [[nodiscard]] Error error();
  [[nodiscard]] std::vector<int> lost() const;
  /// The first part of `close`.
  void refuse_calls();
  /// Ends all calls of this rank with `Errc::closed`. Calls of others that need this rank fail from
  /// now on. May come from inside a call (of the function that it asks whether to go on, or of one
  /// that reduces): then both happen when that call ends, which is soon.
  void close();

  /// What this rank has finished.
  [[nodiscard]] FinishedByTag finished() const;
  [[nodiscard]] Segment& segment() const { return *segment_; }

 private:
  class Pending;
  struct Lane {
    Lane(Segment& segment, std::size_t number, const Options& options)
        : channel(segment, number, options.lease, options.lends,
                  options.at_step ? &options.at_step : nullptr, options.ways) {}

    Hold owner;  ///< held by whoever carries on the first call
    Channel channel;
    std::mutex mutex;                            ///< of the queue
    std::deque<std::shared_ptr<Pending>> queue;  ///< started and not over
    std::atomic<std::size_t> queued{0};

    // Of who holds it:
    bool carries_first = false;  ///< it is inside the operation of the first call in the queue
    bool closed_inside = false;  ///< it has closed the group meanwhile
    Tally tally;                 ///< of the calls that are over
  };
  /// Holds a lane, if nobody else does.
  class Holding {
   public:
    Holding(SharedPlane& plane, Lane& lane)
        : plane_(plane), lane_(lane), held_(lane.owner.try_lock()) {}
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;
    ~Holding() { let_go(); }

    explicit operator bool() const { return held_; }
    void let_go() {
      if (!std::exchange(held_, false)) return;
      const bool closed = std::exchange(lane_.closed_inside, false);
      lane_.owner.unlock();
      if (closed) [[unlikely]]
        plane_.end_call_around_close();
    }

   private:
    SharedPlane& plane_;
    Lane& lane_;
    bool held_;
  };

  void add_lane(std::size_t index);
  [[nodiscard]] Result<Lane*> lane(int tag);
  inline Result<void> run_here(Lane& lane, const Call& call, Timeout timeout);
  Result<void> wait_on(Lane& lane, Operation& operation, Timeout timeout);
  /// Lets the operation go on, and tells the others. One that cannot go on ends the group.
  template <class Carried>
  [[gnu::always_inline]] Progress carry_on(Carried& operation) {
    return guard(operation, [&] { return operation.advance(); });
  }
  template <class Carried, class Work>
  [[gnu::always_inline]] Progress guard(Carried& operation, Work work) {
    if (operation.failed()) [[unlikely]]
      return Progress::failed;
    try {
      const Progress progress = work();
      tell(operation);
      if (progress >= Progress::failed) [[unlikely]]
        end_because(progress, operation);
      else
        return progress;
    } catch (const ReductionFailed& problem) {
      end_by(Break::function, problem.what());
    } catch (const std::exception& problem) {  // out of memory
      end_by(Break::failed, problem.what());
    }
    operation.set_failed();
    return Progress::failed;
  }
  void end_because(Progress progress, const Operation& operation);
  void end_by(Break why, const char* what);
  /// The operation is given up because this rank closes the group. What others read of its memory
  /// is of no use from now on.
  void abandon(const Operation& operation);
  /// With the lane held, which carries it out. Null when it cannot be made: then the group has
  /// ended.
  [[nodiscard]] Operation* make_operation_of(Pending& pending);
  void advance(Lane& lane);
  /// What is done now and then for the first call in the queue.
  void look_around(Lane& lane);
  /// Asks the program, with a lane held.
  [[nodiscard]] bool is_interrupted(const Operation& operation);
  /// Throws where this thread is inside a call that has to be over before.
  void check_not_around(const Lane& lane, const Call& call) const;
  /// With the lane held. Ends all calls in the queue, but for one inside of which this thread is.
  void fail_all(Lane& lane, const Error& error);
  /// The same, from anywhere, for a group that has ended. False when it is left to who holds the
  /// lane, because that may be waiting for this thread.
  bool fail_queue(Lane& lane);
  /// The last of the calls inside of which the group was closed closes it.
  void end_call_around_close();
  void close_lanes();
  /// Whether the operation waits for a rank that can run only when this one does not, because it
  /// last waited on the same core.
  [[nodiscard]] bool waits_for_neighbour(const Operation& operation) const;
  /// Helps those that cannot read what the operation lends.
  void serve_readers(Operation& operation);
  void give_up_overdue();
  /// From now on there is something to be given up then.
  void remember_due(TimePoint due);
  /// Ends the group when the operation waits for a rank that has left.
  void look_who_left(Operation& operation);
  /// Sleeps unless `stirs` becomes true.
  template <class Stirs>
  void sleep(Stirs stirs, TimePoint until);
  [[nodiscard]] Error differ(const Operation& operation, Lane& lane);
  [[nodiscard]] Error differ(int rank, const Signature& its, int other, const Signature& others,
                             const std::string& detail = {}) const;
  void give_up_for_all(const Signature& call);
  [[nodiscard]] Error give_up(const Signature& call, std::string what, Errc errc);
  void tell(Operation& operation) {
    if (operation.take_news() && segment_->header().sleepers.load(std::memory_order_relaxed) != 0)
        [[unlikely]]
      wake_sleepers();
  }
  void wake_sleepers();
  [[nodiscard]] Error describe(Verdict verdict) const;
  [[nodiscard]] bool inherited() const { return fork_generation_ != fork_generation(); }

  // Keeps the segment, until the group has let go and the last one is out of here, too: the
  // background thread comes here, and must not be the one that keeps its crew.
  std::shared_ptr<Door> memory_ = std::make_shared<Door>();
  Segment* segment_;  // there for who visits that, or holds a lane and finds it open
  Options options_;
  std::array<std::atomic<Lane*>, kChannels> lanes_{};  // owned by lane_storage_
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lane_storage_;  // guarded by mutex_
  std::optional<Error> error_;                       // guarded by mutex_: why the group has ended
  std::atomic<bool> closed_{false};
  std::atomic<bool> ended_{false};      // there is an error_, or it is closed
  std::optional<Door::Visit> closing_;  // until it is closed
  int calls_around_close_ = 0;          // of the thread that closed it, inside of which it did
  std::uint64_t fork_generation_ = fork_generation();
  std::atomic<bool> crowded_{false};  // as the last call that waited found it
  std::atomic<std::size_t> pending_{0};
  std::atomic<TimePoint> next_due_{TimePoint::max()};  // no call in a queue is due before
};

}  // namespace muster::comm::collective::shared
