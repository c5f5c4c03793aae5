#include "muster/comm/collective/shared/plane.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <sched.h>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/comm/collective/inside.h"
#include "muster/comm/collective/shared/make_operation.h"
#include "muster/comm/collective/shared/patience.h"
#include "muster/comm/errc.h"
#include "muster/runtime/futex.h"

namespace muster::comm::collective::shared {
namespace {

// A wake-up that came at the very moment of falling asleep costs this much.
constexpr Duration kLongestSleep = std::chrono::milliseconds(5);
// How often a waiting call asks the program whether to go on.
constexpr Duration kAskEvery = std::chrono::milliseconds(100);
// Looks before the clock is asked for the first time, in about a microsecond.
constexpr int kFirstLooks = 100;
// The same when there are more ranks than cores: mostly somebody else has to run first.
constexpr int kCrowdedLooks = 4;
// Between looks of a rank that only takes.
constexpr int kPausesInStream = 8;
// A pause takes about as long as so many looks.
constexpr int kLooksInPause = 2;
// After falling asleep was announced, memory is watched for longer than a store takes to become
// visible: whoever stored before it saw the announcement needs no fence then.
constexpr int kLastLooks = 64;

// Adds the cores on which this process may run.
void tell_cores(Header& header) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (std::size_t core = 0; core < kMostCores; ++core)
    if (CPU_ISSET(core, &cores)) header.cores[core / 64].fetch_or(std::uint64_t{1} << (core % 64));
}

bool more_ranks_than_cores(const Segment& segment) {
  int cores = 0;
  for (const auto& word : segment.header().cores)
    cores += std::popcount(word.load(std::memory_order_relaxed));
  return segment.ranks() > cores;
}

TimePoint steady_now() { return std::chrono::steady_clock::now(); }

/// Tells on which core this rank waits; returns it as in `Bell::core`.
std::uint32_t tell_core(Bell& bell) {
  const auto core = static_cast<std::uint32_t>(::sched_getcpu() + 1);
  if (bell.core.load(std::memory_order_relaxed) != core)
    bell.core.store(core, std::memory_order_relaxed);
  return core;
}

std::string overdue(const Signature& signature, Duration timeout) {
  return fmt::format("{} is not over after {:.1f} s", describe(signature),
                     std::chrono::duration<double>(timeout).count());
}

std::string waits_for(const Operation& operation) {
  const int rank = operation.waits_for();
  return rank < 0 ? "" : fmt::format(": it waits for rank {}", rank);
}

std::string overdue(const Operation& operation, Duration timeout) {
  return overdue(operation.signature(), timeout) + waits_for(operation);
}

}  // namespace

/// A call in the queue of a lane.
class SharedPlane::Pending final : public Handle::State {
 public:
  Pending(std::shared_ptr<SharedPlane> plane, Lane& lane, Call call, Timeout timeout)
      : plane_(std::move(plane)),
        lane_(lane),
        call_(std::move(call)),
        timeout_(timeout),
        due_(after_or_never(steady_now(), timeout)) {}

  [[nodiscard]] std::string_view group() const override { return plane_->options_.group; }
  Result<void> wait(Timeout timeout) override;
  Result<bool> test() override;
  void cancel() override;

  // With the lane held:
  Operation& operation() {
    if (!operation_) operation_ = make_operation(lane_.channel, call_);
    return *operation_;
  }
  void abandon() const {
    if (operation_) plane_->abandon(*operation_);
  }
  void fail_with(const Error& error) {
    end(overdue_.load() ? fail(not_over_after(*timeout_)) : fail(error));
  }
  [[nodiscard]] Error not_over_after(Duration timeout) const {
    return {make_error_code(Errc::timeout),
            operation_ ? overdue(*operation_, timeout) : overdue(signature(call_), timeout)};
  }
  /// When nothing carries it on any more.
  [[nodiscard]] Result<void> outcome() const {
    if (!over()) return fail(plane_->error());
    return result_;
  }
  void end(Result<void> result) {
    operation_.reset();
    result_ = std::move(result);
    over_.store(true, std::memory_order_release);
  }

  /// As far as nobody else carries it on at the moment.
  [[nodiscard]] std::string whom_it_waits_for() const {
    const Holding held(*plane_, lane_);
    return held && operation_ ? waits_for(*operation_) : "";
  }
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] TimePoint due() const { return due_; }
  void set_overdue() { overdue_ = true; }

 private:
  std::shared_ptr<SharedPlane> plane_;
  Lane& lane_;  // of the plane
  Call call_;
  Timeout timeout_;
  TimePoint due_;
  std::atomic<bool> overdue_{false};      // it is given up for that
  std::unique_ptr<Operation> operation_;  // once it is the first of its lane
  Result<void> result_;                   // once it is over
  std::atomic<bool> over_{false};
};

SharedPlane::SharedPlane(std::shared_ptr<Segment> segment, Options options)
    : segment_(segment.get()), options_(std::move(options)) {
  memory_->keep(std::move(segment));
  options_.door->keep(
      std::shared_ptr<void>(nullptr, [memory = memory_](void*) { memory->close(); }));
  tell_cores(segment_->header());
  add_lane(0);
}

SharedPlane::~SharedPlane() = default;

// ---- Lanes

void SharedPlane::add_lane(std::size_t index) {
  lane_storage_.push_back(std::make_unique<Lane>(*segment_, index, options_));
  lanes_[index] = lane_storage_.back().get();
}

Result<bool> SharedPlane::takes(int tag) {
  if (tag == 0) return true;
  const auto key = static_cast<std::uint32_t>(tag) + 1;
  auto& tags = segment_->header().tags;
  for (std::size_t i = 1; i < kChannels; ++i) {
    std::uint32_t there = tags[i].load(std::memory_order_acquire);
    // The first rank that uses the tag takes the first channel that is free; all others find it.
    if (there == 0) tags[i].compare_exchange_strong(there, key);
    if (there != 0 && there != key) continue;
    if (lanes_[i].load(std::memory_order_acquire) != nullptr) return true;
    if (auto ok = segment_->reserve_staging(i); !ok) {
      end_by(Break::failed, ok.error().message().c_str());
      return fail(ok.error());
    }
    const std::lock_guard lock(mutex_);
    if (lanes_[i] == nullptr) add_lane(i);
    return true;
  }
  return false;
}

Result<SharedPlane::Lane*> SharedPlane::lane(int tag) {
  if (tag == 0) return lanes_[0].load(std::memory_order_relaxed);
  const auto taken = takes(tag);
  if (!taken) return fail(taken.error());
  const auto key = static_cast<std::uint32_t>(tag) + 1;
  for (std::size_t i = 1; i < kChannels; ++i)
    if (segment_->header().tags[i].load(std::memory_order_relaxed) == key) return lanes_[i].load();
  return fail(Errc::internal, fmt::format("tag {} has no channel", tag));
}

FinishedByTag SharedPlane::finished() const {
  FinishedByTag finished;
  for (std::size_t i = 0; i < kChannels; ++i) {
    const Lane* const lane = lanes_[i].load(std::memory_order_acquire);
    if (lane == nullptr) continue;
    const std::uint32_t key = segment_->header().tags[i].load(std::memory_order_relaxed);
    const Finished own = lane->tally.read();
    if (own.calls > 0) finished[i == 0 ? 0 : static_cast<int>(key) - 1] = own;
  }
  return finished;
}

// ---- Calls

// Used once, where small calls go by.
[[gnu::always_inline]] inline Result<void> SharedPlane::run_here(Lane& lane, const Call& call,
                                                                 Timeout timeout) {
  if (ended_.load(std::memory_order_relaxed) || broken()) return fail(error());
  // Of what is staged a rank takes long enough for the next step to come meanwhile.
  const bool streams =
      lane.channel.streams() && call.count * item_size(call.element) <= kInlineBytes;
  return with_operation(lane.channel, call, [&](auto& operation) -> Result<void> {
    // Most calls are over after a few looks: nothing else is done before.
    const int looks = crowded_.load(std::memory_order_relaxed) ? kCrowdedLooks : kFirstLooks;
    Pace& pace = lane.channel.pace();
    int vain = 0;
    for (int look = 0; look < looks; ++look, ++vain) {
      const Progress progress = carry_on(operation);
      if (progress == Progress::over) {
        if (!streams) pace.note(vain);
        lane.tally.count(operation.signature());
        return {};
      }
      if (progress != Progress::waiting) break;
      const int pauses = streams ? kPausesInStream : pace.pauses();
      for (int i = 0; i < pauses; ++i) pause_cpu();
      look += pauses * kLooksInPause;
    }
    if (!streams) pace.note(vain);
    auto result = wait_on(lane, operation, timeout);
    if (result) lane.tally.count(operation.signature());
    return result;
  });
}

Result<void> SharedPlane::run(const Call& call, int tag, Timeout timeout) {
  Lane* lane = lanes_[0].load(std::memory_order_relaxed);
  if (tag != 0) {
    auto found = this->lane(tag);
    if (!found) return fail(found.error());
    lane = *found;
  }
  if (Holding held(*this, *lane); held && lane->queued.load(std::memory_order_acquire) == 0) {
    auto result = run_here(*lane, call, timeout);
    held.let_go();
    // Calls that were started meanwhile, in other threads.
    if (lane->queued.load(std::memory_order_relaxed) > 0) [[unlikely]]
      if (const Door::Visit visit(memory_); visit) wake_sleepers();
    return result;
  }
  check_not_around(*lane, call);
  const Door::Visit visit(memory_);
  if (!visit) return fail(error());
  auto pending = start(call, tag);
  if (!pending) return fail(pending.error());
  Handle handle(*std::move(pending));  // gives it up when it ends otherwise
  return handle.wait(timeout);
}

void SharedPlane::check_not_around(const Lane& lane, const Call& call) const {
  if (!lane.owner.held_here()) return;
  throw std::logic_error(
      fmt::format("[{}] on group '{}' from inside another call with the same tag, which waits for "
                  "this one to return: give it another tag, or call it when that one is over",
                  name(call.operation), options_.group));
}

bool SharedPlane::is_interrupted(const Operation& operation) {
  const Inside inside(Inside::Of::question);
  try {
    return options_.interrupted();
  } catch (...) {
    give_up_for_all(operation.signature());
    throw;
  }
}

bool SharedPlane::waits_for_neighbour(const Operation& operation) const {
  auto& bells = segment_->header().bells;
  const std::uint32_t core = tell_core(bells[segment_->rank()]);
  for (int rank = 0; rank < segment_->ranks(); ++rank)
    if (rank != segment_->rank() && bells[rank].core.load(std::memory_order_relaxed) == core &&
        operation.awaits(rank))
      return true;
  return false;
}

Result<void> SharedPlane::wait_on(Lane& lane, Operation& operation, Timeout timeout) {
  const bool crowded = more_ranks_than_cores(*segment_);
  crowded_.store(crowded, std::memory_order_relaxed);
  Patience patience(crowded);
  TimePoint time = steady_now();
  const TimePoint deadline = after_or_never(time, timeout);
  TimePoint ask_at = time + kAskEvery;
  std::uint64_t moves = operation.moves();
  while (true) {
    const Progress progress = carry_on(operation);
    if (progress == Progress::over) return {};
    if (progress == Progress::differs) return fail(differ(operation, lane));
    if (broken() || closed_.load(std::memory_order_relaxed)) {
      // Others may have done their part just before.
      if (carry_on(operation) == Progress::over) return {};
      abandon(operation);
      return fail(error());
    }
    // A call of many steps waits many times, and never long.
    if (std::exchange(moves, operation.moves()) != operation.moves()) patience.renew();
    const bool goes_on = patience.pause(crowded && waits_for_neighbour(operation));
    if (goes_on && !patience.looks_around()) continue;
    if (operation.compare() == Progress::differs) return fail(differ(operation, lane));
    serve_readers(operation);
    look_who_left(operation);
    time = steady_now();
    if (time >= deadline)
      return fail(give_up(operation.signature(), overdue(operation, *timeout), Errc::timeout));
    if (options_.interrupted && time >= ask_at) {
      if (is_interrupted(operation))
        return fail(give_up(operation.signature(),
                            fmt::format("rank {} was interrupted", segment_->rank()),
                            Errc::interrupted));
      ask_at = steady_now() + kAskEvery;
    }
    if (goes_on) continue;
    sleep([&] { return carry_on(operation) != Progress::waiting; },
          std::min(deadline, time + kLongestSleep));
  }
}

void SharedPlane::serve_readers(Operation& operation) {
  guard(operation, [&] {
    operation.serve_readers();
    return Progress::waiting;
  });
}

template <class Stirs>
void SharedPlane::sleep(Stirs stirs, TimePoint until) {
  Header& header = segment_->header();
  Bell& bell = header.bells[segment_->rank()];
  const std::uint32_t rings = bell.rings.load();
  bell.asleep.fetch_add(1);
  header.sleepers.fetch_add(1);
  bool awake = broken();
  for (int look = 0; look < kLastLooks && !awake; ++look) {
    pause_cpu();
    awake = stirs();
  }
  if (!awake) futex_wait(bell.rings, rings, until);
  header.sleepers.fetch_sub(1);
  bell.asleep.fetch_sub(1);
}

void SharedPlane::wake_sleepers() {
  Header& header = segment_->header();
  for (int rank = 0; rank < segment_->ranks(); ++rank) {
    Bell& bell = header.bells[rank];
    if (bell.asleep.load(std::memory_order_relaxed) == 0) continue;
    bell.rings.fetch_add(1);
    futex_wake(bell.rings, std::numeric_limits<int>::max());
  }
}

// ---- Calls that were started

Result<std::shared_ptr<Handle::State>> SharedPlane::start(Call call, int tag, Timeout timeout) {
  auto found = lane(tag);
  if (!found) return fail(found.error());
  Lane& lane = **found;
  if (ended_.load(std::memory_order_relaxed) || broken()) return fail(error());
  auto pending = std::make_shared<Pending>(shared_from_this(), lane, std::move(call), timeout);
  {
    const std::lock_guard lock(lane.mutex);
    lane.queue.push_back(pending);
    lane.queued.fetch_add(1, std::memory_order_release);
    pending_.fetch_add(1);
  }
  remember_due(pending->due());
  if (const Holding held(*this, lane); held) advance(lane);
  if (!pending->over() && options_.wake_background) options_.wake_background();
  return std::shared_ptr<Handle::State>(std::move(pending));
}

Operation* SharedPlane::make_operation_of(Pending& pending) {
  try {
    return &pending.operation();
  } catch (const std::exception& problem) {  // out of memory
    end_by(Break::failed, problem.what());
    return nullptr;
  }
}

void SharedPlane::advance(Lane& lane) {
  while (true) {
    std::shared_ptr<Pending> first;
    {
      const std::lock_guard lock(lane.mutex);
      if (lane.queue.empty()) return;
      first = lane.queue.front();
    }
    // Looked at with the lane held: who closed the group had it before, and reads nothing any more.
    if (closed_.load(std::memory_order_relaxed)) return fail_all(lane, error());
    Operation* const made = make_operation_of(*first);
    if (made == nullptr) return fail_all(lane, error());
    Operation& operation = *made;
    lane.carries_first = true;
    const Progress progress = carry_on(operation);
    lane.carries_first = false;
    if (progress == Progress::differs) static_cast<void>(differ(operation, lane));
    if (progress != Progress::over) {
      if (broken() || closed_.load(std::memory_order_relaxed)) fail_all(lane, error());
      return;
    }
    lane.tally.count(operation.signature());
    {
      const std::lock_guard lock(lane.mutex);
      lane.queue.pop_front();
      lane.queued.fetch_sub(1, std::memory_order_release);
      pending_.fetch_sub(1);
    }
    first->end({});
  }
}

void SharedPlane::fail_all(Lane& lane, const Error& error) {
  std::deque<std::shared_ptr<Pending>> failed;
  {
    const std::lock_guard lock(lane.mutex);
    const auto from = lane.queue.begin() + (lane.carries_first ? 1 : 0);
    failed.assign(from, lane.queue.end());
    lane.queue.erase(from, lane.queue.end());
    lane.queued.store(lane.queue.size(), std::memory_order_release);
    pending_.fetch_sub(failed.size());
  }
  if (!failed.empty()) failed.front()->abandon();
  for (const auto& pending : failed) pending->fail_with(error);
}

bool SharedPlane::fail_queue(Lane& lane) {
  // Whoever carries on a call lets go soon: the group has ended for him, too.
  std::unique_lock held(lane.owner, std::defer_lock);
  if (!lane.owner.held_here() && !Inside::lock(held)) return false;
  fail_all(lane, error());
  return true;
}

void SharedPlane::remember_due(TimePoint due) {
  TimePoint next = next_due_.load();
  while (due < next && !next_due_.compare_exchange_weak(next, due)) continue;
}

void SharedPlane::give_up_overdue() {
  const TimePoint next = next_due_.load(std::memory_order_relaxed);
  if (next == TimePoint::max() || broken()) return;
  const TimePoint time = steady_now();
  if (time < next) return;
  next_due_ = TimePoint::max();
  std::optional<Signature> given_up;
  for (const auto& slot : lanes_) {
    Lane* const lane = slot.load(std::memory_order_acquire);
    if (lane == nullptr) continue;
    const std::lock_guard lock(lane->mutex);
    for (const auto& pending : lane->queue) {
      if (pending->due() > time) {
        remember_due(pending->due());
        continue;
      }
      pending->set_overdue();
      given_up = signature(pending->call());
    }
  }
  // Whoever carries them on ends them when it sees that the group has ended.
  if (given_up) give_up_for_all(*given_up);
}

void SharedPlane::look_around(Lane& lane) {
  std::shared_ptr<Pending> first;
  {
    const std::lock_guard lock(lane.mutex);
    if (lane.queue.empty()) return;
    first = lane.queue.front();
  }
  // What was started just now may be the first.
  if (closed_.load(std::memory_order_relaxed)) return fail_all(lane, error());
  Operation* const made = make_operation_of(*first);
  if (made == nullptr) return fail_all(lane, error());
  Operation& operation = *made;
  lane.carries_first = true;
  serve_readers(operation);
  look_who_left(operation);
  if (operation.compare() == Progress::differs) static_cast<void>(differ(operation, lane));
  lane.carries_first = false;
}

bool SharedPlane::progress() {
  if (pending_.load() == 0) return false;
  const Door::Visit visit(memory_);
  if (!visit) return false;
  give_up_overdue();
  for (const auto& slot : lanes_) {
    Lane* const lane = slot.load(std::memory_order_acquire);
    if (lane == nullptr || lane->queued.load() == 0) continue;
    if (const Holding held(*this, *lane); held) {
      advance(*lane);
      look_around(*lane);
    }
  }
  return pending_.load() > 0;
}

void SharedPlane::doze(TimePoint until) {
  const Door::Visit visit(memory_);
  if (!visit) return;
  sleep([this] { return !progress(); }, std::min(until, steady_now() + kLongestSleep));
}

Result<void> SharedPlane::Pending::wait(Timeout timeout) {
  if (plane_->inherited()) return fail(inherited_error(plane_->options_.group));
  const Door::Visit visit(plane_->memory_);
  if (!visit) return outcome();
  if (!over()) plane_->check_not_around(lane_, call_);
  Patience patience(more_ranks_than_cores(*plane_->segment_));
  const TimePoint deadline = after_or_never(steady_now(), timeout);
  TimePoint ask_at = steady_now() + kAskEvery;
  const auto look = [&] {
    if (over()) return true;
    if (const Holding held(*plane_, lane_); held) plane_->advance(lane_);
    return over();
  };
  while (!look()) {
    const bool goes_on = patience.pause();
    if (goes_on && !patience.looks_around()) continue;
    plane_->progress();
    const TimePoint time = steady_now();
    if (time >= deadline)
      return fail(Errc::timeout, overdue(signature(call_), *timeout) + whom_it_waits_for());
    if (plane_->options_.interrupted && time >= ask_at) {
      if (plane_->options_.interrupted())
        return fail(Errc::interrupted,
                    fmt::format("{} was interrupted{}", collective::describe(signature(call_)),
                                whom_it_waits_for()));
      ask_at = steady_now() + kAskEvery;
    }
    if (!goes_on) plane_->sleep(look, std::min(deadline, time + kLongestSleep));
  }
  return result_;
}

Result<bool> SharedPlane::Pending::test() {
  if (plane_->inherited()) return fail(inherited_error(plane_->options_.group));
  const Door::Visit visit(plane_->memory_);
  if (!visit && !over()) return fail(plane_->error());
  if (!over()) plane_->progress();
  if (!over()) return false;
  if (!result_) return fail(result_.error());
  return true;
}

void SharedPlane::Pending::cancel() {
  if (over() || plane_->inherited()) return;
  const Door::Visit visit(plane_->memory_);
  if (!visit) return;
  // Who closes the group says that this rank leaves.
  if (!plane_->closed_.load()) plane_->give_up_for_all(signature(call_));
  // By its own reduction function: what calls that goes on to the next wait, and no further.
  if (lane_.owner.held_here() && operation_) operation_->set_failed();
  plane_->fail_queue(lane_);
}

}  // namespace muster::comm::collective::shared
