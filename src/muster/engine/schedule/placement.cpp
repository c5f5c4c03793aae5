#include <algorithm>
#include <array>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {
namespace {

// A chunk on more workers than this is nearly everywhere: it says nothing about where to run.
constexpr std::uint32_t kWidespread = 8;

// How many workers a thief asks for a task that they did not begin, so that asking stays cheap.
constexpr int kTries = 8;

// A source that makes more than this part of a worker's budget is not given ahead.
constexpr std::uint64_t kLargeSource = 16;

constexpr std::uint32_t task_of(std::uint64_t entry) { return static_cast<std::uint32_t>(entry); }

}  // namespace

/// The worker where the task can be done soonest: those that have some of its inputs, its home and
/// one that idles are compared by the bytes that would move and by the tasks before it.
std::uint32_t Scheduler::place(SessionState& s, const TaskState& task) {
  if (well_.empty()) return kNobody;
  if (is_source(s, task)) return any_worker(task);
  candidates_.clear();
  std::uint64_t total = 0;
  for (std::uint32_t e = task.first_edge; e < task.first_edge + task.edges; ++e) {
    const ChunkState& chunk = s.chunks[s.edges[e].chunk];
    if (chunk.copies > kWidespread) continue;
    total += chunk.bytes;
    for (std::uint32_t i = chunk.first_copy; i != kNobody; i = copies_[i].next_of_chunk) {
      const std::uint32_t worker = copies_[i].worker;
      if (workers_[worker].health != WorkerHealth::well) continue;
      if (have_[worker] == 0) {
        candidates_.push_back(worker);
        have_[worker] = 1;  // marks it, even if all its chunks are empty
      }
      have_[worker] += chunk.bytes;
    }
  }
  if (candidates_.empty()) return any_worker(task);
  if (task.home != kNobody && workers_[task.home].health == WorkerHealth::well)
    candidates_.push_back(task.home);
  if (!hungry_.empty()) candidates_.push_back(hungry_.first());
  std::uint32_t best = kNobody;
  std::int64_t least = 0;
  for (const std::uint32_t worker : candidates_) {
    if (worker == task.avoid && well_.size() > 1) continue;
    const std::uint64_t moved = total - (have_[worker] == 0 ? 0 : have_[worker] - 1);
    const std::int64_t cost =
        wait_at(worker) +
        (moved == 0 ? 0
                    : options_.move_start + static_cast<std::int64_t>(moved) * options_.move_byte);
    if (best != kNobody && cost >= least) continue;
    best = worker;
    least = cost;
  }
  for (const std::uint32_t worker : candidates_) have_[worker] = 0;
  return best == kNobody ? any_worker(task) : best;
}

/// For a task to which all workers are alike.
std::uint32_t Scheduler::any_worker(const TaskState& task) {
  const auto suits = [&](std::uint32_t worker) {
    return worker != task.avoid || well_.size() == 1;
  };
  if (task.home != kNobody && workers_[task.home].health == WorkerHealth::well && suits(task.home))
    return task.home;
  if (!hungry_.empty() && suits(hungry_.first())) return hungry_.first();
  const std::uint32_t turn = well_[next_worker_++ % well_.size()];
  return suits(turn) ? turn : well_[next_worker_++ % well_.size()];
}

std::int64_t Scheduler::wait_at(std::uint32_t worker) const {
  const std::int64_t threads = workers_[worker].threads;
  const std::int64_t before = std::int64_t{workers_[worker].attempts} + ready_[worker];
  return before < threads ? 0 : (before - threads + 1) * mean_ / threads;
}

/// Bytes that running the task would add to the worker's memory.
std::uint64_t Scheduler::need_at(SessionState& s, const TaskState& task, std::uint32_t worker) {
  std::uint64_t need = 0;
  for (std::uint32_t c = task.first_chunk; c < task.first_chunk + task.chunks; ++c)
    need += s.chunks[c].bytes;
  for (std::uint32_t e = task.first_edge; e < task.first_edge + task.edges; ++e) {
    const ChunkState& chunk = s.chunks[s.edges[e].chunk];
    if (find_copy(chunk, worker) == kNobody) need += chunk.bytes;
  }
  return need;
}

/// A worker with nothing to do takes any task, so that one that is larger than the budget gets its
/// try and none waits for ever.
bool Scheduler::admits(const WorkerState& worker, std::uint64_t need) const {
  return worker.attempts == 0 || worker.used() + need <= worker.budget ||
         options_.faults.admit_always;
}

bool Scheduler::is_queued(SessionState& s, std::uint64_t entry, std::uint32_t worker) {
  if (!s.tasks.has(task_of(entry))) return false;
  const TaskState& task = s.tasks[task_of(entry)];
  return task.phase == TaskPhase::ready && task.queue == worker && !task.retired;
}

/// The lane of the session that has the fewest tasks at work, with a ready task on top; none if
/// there is none.
Lane* Scheduler::best_lane(std::uint32_t worker) {
  std::vector<Lane>& lanes = (worker == kNobody ? nowhere_ : workers_[worker]).lanes;
  if ((worker == kNobody ? nowhere_ready_ : ready_[worker]) == 0) {
    lanes.clear();
    return nullptr;
  }
  std::size_t best = lanes.size();
  std::uint32_t least = kNobody;
  for (std::size_t i = 0; i < lanes.size();) {
    SessionState* const s = find(lanes[i].session);
    std::vector<std::uint64_t>& heap = lanes[i].heap;
    while (s != nullptr && !heap.empty() && !is_queued(*s, heap.front(), worker)) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      heap.pop_back();
    }
    if (s == nullptr || heap.empty()) {
      lanes.erase(lanes.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (s->attempts < least) {
      best = i;
      least = s->attempts;
    }
    ++i;
  }
  return least == kNobody ? nullptr : &lanes[best];
}

void Scheduler::assign(SessionState& s, std::uint32_t task, std::uint32_t worker,
                       std::uint64_t need) {
  TaskState& t = s.tasks[task];
  if (t.phase == TaskPhase::ready) unready(t);
  if (t.phase != TaskPhase::running) t.phase = TaskPhase::assigned;
  actions_->emplace_back(
      RunTask{WorkerId(worker), {s.id, task}, next_attempt_, input_places(s, t, worker)});
  add_attempt(s, task, worker, need);
}

/// Where each input is: on the worker itself if it is there, else on a worker that is well, taking
/// turns.
std::vector<InputPlace> Scheduler::input_places(SessionState& s, const TaskState& task,
                                                std::uint32_t worker) {
  std::vector<InputPlace> places;
  places.reserve(task.edges);
  for (std::uint32_t e = task.first_edge; e < task.first_edge + task.edges; ++e) {
    const std::uint32_t chunk = s.edges[e].chunk;
    std::array<std::uint32_t, kWidespread> holders{};
    std::uint32_t count = 0;
    std::uint32_t any = kNobody;
    bool is_local = false;
    for (std::uint32_t i = s.chunks[chunk].first_copy; i != kNobody; i = copies_[i].next_of_chunk) {
      const CopyState& copy = copies_[i];
      if (copy.pending) continue;
      is_local = is_local || copy.worker == worker;
      any = copy.worker;
      if (workers_[copy.worker].health != WorkerHealth::silent && count < kWidespread)
        holders[count++] = copy.worker;
    }
    const std::uint32_t from = is_local ? worker : count > 0 ? holders[next_attempt_ % count] : any;
    places.push_back({chunk, WorkerId(from)});
  }
  return places;
}

void Scheduler::dispatch() {
  while (!dirty_.empty()) {
    for (std::size_t i = 0; i < dirty_.size(); ++i) {
      const std::uint32_t worker = dirty_[i];
      workers_[worker].dirty = false;
      if (workers_[worker].health == WorkerHealth::well) fill(worker);
      if (workers_[worker].health == WorkerHealth::leaving) hand_over(worker);
    }
    dirty_.clear();
    Theft theft = Theft::taken;
    while (!hungry_.empty() && theft != Theft::nothing) {
      const std::uint32_t thief = hungry_.first();
      theft = steal(thief);
      if (theft == Theft::refused || workers_[thief].attempts >= workers_[thief].threads)
        hungry_.set(thief, false);
    }
  }
}

/// What a large source makes would only lie in memory until it is read, or go to the disk and come
/// back; and whoever reads what is there already may become ready meanwhile.
bool Scheduler::is_too_early(SessionState& s, const TaskState& task, const WorkerState& worker,
                             std::uint64_t need) {
  return worker.attempts >= worker.threads && need > worker.budget / kLargeSource &&
         is_source(s, task);
}

/// Gives a worker tasks from its queue, a few more than it has threads, so that it need not wait
/// for us between two of them.
void Scheduler::fill(std::uint32_t worker) {
  WorkerState& w = workers_[worker];
  bool is_refused = false;
  const auto growth = std::clamp<std::int64_t>(
      options_.queue_time / std::max<std::int64_t>(mean_, 1), 1, options_.queue_growth);
  const std::size_t most = w.threads + options_.queue_depth * static_cast<std::size_t>(growth);
  while (w.attempts < most) {
    Lane* lane = best_lane(worker);
    if (lane == nullptr) lane = best_lane(kNobody);
    if (lane == nullptr) break;
    SessionState& s = *find(lane->session);
    const std::uint32_t task = task_of(lane->heap.front());
    const std::uint64_t need = need_at(s, s.tasks[task], worker);
    is_refused = !admits(w, need);
    if (is_refused || is_too_early(s, s.tasks[task], w, need)) break;
    std::pop_heap(lane->heap.begin(), lane->heap.end(), std::greater<>());
    lane->heap.pop_back();
    assign(s, task, worker, need);
  }
  hungry_.set(worker, w.attempts < w.threads && !is_refused);
}

/// Takes a task from the worker with the longest queue, else one that another worker was given, but
/// did not begin.
Scheduler::Theft Scheduler::steal(std::uint32_t thief) {
  if (total_ready_ == 0) return steal_assigned(thief);
  if (nowhere_ready_ > 0) return steal_ready(thief, kNobody);
  const auto longest = std::max_element(ready_.begin(), ready_.end());
  return steal_ready(thief, static_cast<std::uint32_t>(longest - ready_.begin()));
}

/// From the end of the queue: what its owner would do last, and has the least of.
Scheduler::Theft Scheduler::steal_ready(std::uint32_t thief, std::uint32_t victim) {
  Lane* const lane = best_lane(victim);
  if (lane == nullptr) return Theft::nothing;
  SessionState& s = *find(lane->session);
  while (!is_queued(s, lane->heap.back(), victim)) lane->heap.pop_back();
  const std::uint32_t task = task_of(lane->heap.back());
  const TaskState& t = s.tasks[task];
  const std::uint64_t need = need_at(s, t, thief);
  if (t.avoid == thief && well_.size() > 1) return Theft::nothing;
  if (!admits(workers_[thief], need)) return Theft::refused;
  lane->heap.pop_back();
  assign(s, task, thief, need);
  return Theft::taken;
}

Scheduler::Theft Scheduler::steal_assigned(std::uint32_t thief) {
  std::uint32_t worker = overfull_.next(0);
  for (int tries = 0; tries < kTries && worker != WorkerSet::kNone;
       ++tries, worker = overfull_.next(worker + 1)) {
    const WorkerState& victim = workers_[worker];
    if (victim.health != WorkerHealth::well) continue;
    const AttemptState last = attempts_[victim.last_attempt];
    SessionState& s = *find(last.session);
    const TaskState& t = s.tasks[last.task];
    if (last.started >= 0 || t.avoid == thief || last.next_of_task != kNobody ||
        t.first_attempt != victim.last_attempt)
      continue;
    const std::uint64_t need = need_at(s, t, thief);
    if (!admits(workers_[thief], need)) return Theft::refused;
    bool is_complete = true;
    for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e)
      is_complete = is_complete && s.chunks[s.edges[e].chunk].copies > 0;
    if (!is_complete) continue;
    cancel_attempts(s, last.task);
    assign(s, last.task, thief, need);
    return Theft::taken;
  }
  return Theft::nothing;
}

/// Runs a task once more on an idle worker, beside the attempt that takes so long.
bool Scheduler::run_second(SessionState& s, std::uint32_t task, std::uint32_t beside) {
  const TaskState& t = s.tasks[task];
  if (hungry_.empty()) return false;
  const std::uint32_t worker = hungry_.first();
  if (worker == beside) return false;
  for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e)
    if (s.chunks[s.edges[e].chunk].copies == 0) return false;
  const std::uint64_t need = need_at(s, t, worker);
  if (!admits(workers_[worker], need)) return false;
  assign(s, task, worker, need);
  touch(worker);
  return true;
}

}  // namespace muster::engine
