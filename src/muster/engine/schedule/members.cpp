#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {
namespace {

// More than any machine has; a worker that claims more would only be given tasks that wait.
constexpr std::uint32_t kMostThreads = 4096;

}  // namespace

void Scheduler::on(const WorkerJoined& event) {
  const std::uint32_t index = event.worker.value();
  if (index >= workers_.size()) {
    workers_.resize(std::size_t{index} + 1);
    ready_.resize(workers_.size());
    have_.resize(workers_.size());
  }
  WorkerState& w = workers_[index];
  if (w.health != WorkerHealth::gone) reconcile(event);
  w.threads = std::clamp(event.threads, 1u, kMostThreads);
  overfull_.set(index, w.attempts > w.threads);
  w.budget = event.memory;
  w.spilled = 0;
  w.released = false;
  if (w.health == WorkerHealth::well)
    touch(index);
  else
    set_health(index, WorkerHealth::well);
  for (const HeldChunk& held : event.held) take_in(event.worker, held);
  for (const RunningTask& running : event.running) {
    const TaskState* const task = find(running.task);
    if (task == nullptr || find_attempt(*task, event.worker, running.attempt) == kNobody)
      actions_->emplace_back(CancelTask{event.worker, running.task, running.attempt});
  }
}

/// Forgets what we believed of a worker and it does not confirm.
void Scheduler::reconcile(const WorkerJoined& event) {
  const WorkerState& w = workers_[event.worker.value()];
  std::vector<ChunkId> held;
  for (const HeldChunk& h : event.held) held.push_back(h.chunk);
  std::sort(held.begin(), held.end());
  for (std::uint32_t i = w.first_copy; i != kNobody;) {
    const std::uint32_t copy = i;
    i = copies_[i].next_of_worker;
    if (!std::binary_search(held.begin(), held.end(),
                            ChunkId{copies_[copy].session, copies_[copy].chunk}))
      remove_copy(*find(copies_[copy].session), copy);
  }
  recover();
  std::vector<std::uint64_t> running;
  for (const RunningTask& r : event.running) running.push_back(r.attempt);
  std::sort(running.begin(), running.end());
  for (std::uint32_t i = w.first_attempt; i != kNobody;) {
    const AttemptState attempt = attempts_[i];
    const std::uint32_t index = i;
    i = attempt.next_of_worker;
    if (std::binary_search(running.begin(), running.end(), attempt.number)) continue;
    SessionState& s = *find(attempt.session);
    remove_attempt(s, index);
    if (s.tasks[attempt.task].first_attempt == kNobody) requeue(s, attempt.task);
  }
}

void Scheduler::on(const WorkerLost& event) {
  if (find(event.worker) == nullptr) return;
  const std::uint32_t index = event.worker.value();
  set_health(index, WorkerHealth::gone);
  const std::vector<TaskId> doomed = event.crashed ? blame(index) : std::vector<TaskId>{};
  lose_copies(index);
  if (!options_.faults.forget_running_tasks) give_up_attempts(index, false);
  move_queue(index);
  workers_[index].spilled = 0;
  for (const TaskId task : doomed)
    if (find(task) != nullptr && is_active(find(task)->phase)) {
      SessionState& s = *find(task.session);
      fail_task(s, task.index, death_report(s, task.index));
    }
}

void Scheduler::lose_copies(std::uint32_t worker) {
  const WorkerState& w = workers_[worker];
  while (w.first_copy != kNobody) remove_copy(*find(copies_[w.first_copy].session), w.first_copy);
  recover();
}

/// Notes which tasks ran on a worker that died, and returns those that did so too often. If it told
/// of none that it started, it may have died of one of the first it was given.
std::vector<TaskId> Scheduler::blame(std::uint32_t worker) {
  const WorkerState& w = workers_[worker];
  std::vector<TaskId> started;
  std::vector<TaskId> given;
  for (std::uint32_t i = w.first_attempt; i != kNobody; i = attempts_[i].next_of_worker) {
    const TaskId task{attempts_[i].session, attempts_[i].task};
    if (attempts_[i].started >= 0) started.push_back(task);
    if (given.size() < w.threads) given.push_back(task);
  }
  std::vector<TaskId> doomed;
  for (const TaskId task : started.empty() ? given : started) {
    std::vector<std::uint32_t>& deaths = find(task.session)->deaths[task.index];
    deaths.push_back(worker);
    if (deaths.size() >= options_.most_deaths) doomed.push_back(task);
  }
  return doomed;
}

std::string Scheduler::death_report(const SessionState& s, std::uint32_t task) const {
  return fmt::format(
      "{} was running on {} workers when they died (workers {}); it is not tried again",
      name(s, task), s.deaths.at(task).size(), fmt::join(s.deaths.at(task), ", "));
}

/// What the worker was to run, others shall run.
void Scheduler::give_up_attempts(std::uint32_t worker, bool only_unstarted) {
  const WorkerState& w = workers_[worker];
  for (std::uint32_t i = w.first_attempt; i != kNobody;) {
    const AttemptState attempt = attempts_[i];
    const std::uint32_t index = i;
    i = attempt.next_of_worker;
    if (only_unstarted && attempt.started >= 0) continue;
    SessionState& s = *find(attempt.session);
    if (w.health != WorkerHealth::gone)
      actions_->emplace_back(
          CancelTask{WorkerId(worker), {attempt.session, attempt.task}, attempt.number});
    remove_attempt(s, index);
    if (s.tasks[attempt.task].first_attempt == kNobody) requeue(s, attempt.task);
  }
}

/// Gives the tasks in a worker's queue to the queues of others.
void Scheduler::move_queue(std::uint32_t worker) {
  std::vector<Lane> lanes;
  lanes.swap(workers_[worker].lanes);
  for (Lane& lane : lanes) {
    SessionState* const s = find(lane.session);
    if (s == nullptr) continue;
    std::sort(lane.heap.begin(), lane.heap.end());
    for (const std::uint64_t entry : lane.heap) {
      if (!is_queued(*s, entry, worker)) continue;
      const auto task = static_cast<std::uint32_t>(entry);
      unready(s->tasks[task]);
      make_ready(*s, task);
    }
  }
}

void Scheduler::on(const WorkerSilent& event) {
  const WorkerState* const w = find(event.worker);
  if (w == nullptr) return;
  const std::uint32_t index = event.worker.value();
  if (!event.silent && w->health == WorkerHealth::silent) set_health(index, WorkerHealth::well);
  if (!event.silent || w->health == WorkerHealth::silent) return;
  set_health(index, WorkerHealth::silent);
  move_queue(index);
}

void Scheduler::on(const WorkerLeaving& event) {
  const WorkerState* const w = find(event.worker);
  if (w == nullptr || w->health == WorkerHealth::leaving) return;
  const std::uint32_t index = event.worker.value();
  set_health(index, WorkerHealth::leaving);
  give_up_attempts(index, true);
  move_queue(index);
}

/// Where a chunk is, apart from workers that leave.
Scheduler::Whereabouts Scheduler::whereabouts(const ChunkState& chunk) const {
  Whereabouts found;
  for (std::uint32_t i = chunk.first_copy; i != kNobody; i = copies_[i].next_of_chunk) {
    if (workers_[copies_[i].worker].health == WorkerHealth::leaving) continue;
    (copies_[i].pending ? found.on_its_way : found.stays) = true;
  }
  return found;
}

/// Sends on what only leaving workers have, and lets this one go when nothing is left.
void Scheduler::hand_over(std::uint32_t worker) {
  WorkerState& w = workers_[worker];
  if (w.released) return;
  bool is_finished = w.attempts == 0;
  std::map<std::uint32_t, std::vector<ChunkId>> transfers;
  for (std::uint32_t i = w.first_copy; i != kNobody; i = copies_[i].next_of_worker) {
    const CopyState copy = copies_[i];
    SessionState& s = *find(copy.session);
    const ChunkState& chunk = s.chunks[copy.chunk];
    const Whereabouts elsewhere = whereabouts(chunk);
    if (copy.pending || elsewhere.stays) continue;
    is_finished = false;
    if (elsewhere.on_its_way || well_.empty()) continue;
    const std::uint32_t to = well_[next_worker_++ % well_.size()];
    add_copy(s, copy.chunk, to, copy.bytes, true);
    transfers[to].push_back({copy.session, copy.chunk});
  }
  for (auto& [to, chunks] : transfers)
    actions_->emplace_back(CopyChunks{WorkerId(worker), WorkerId(to), std::move(chunks)});
  if (!is_finished) return;
  w.released = true;
  actions_->emplace_back(WorkerReleased{WorkerId(worker)});
}

}  // namespace muster::engine
