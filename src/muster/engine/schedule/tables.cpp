#include <algorithm>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

SessionState* Scheduler::find(SessionId session) {
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

TaskState* Scheduler::find(TaskId task) {
  SessionState* const s = find(task.session);
  if (s == nullptr || !s->tasks.has(task.index) || s->tasks[task.index].retired) return nullptr;
  return &s->tasks[task.index];
}

ChunkState* Scheduler::find(ChunkId chunk) {
  SessionState* const s = find(chunk.session);
  if (s == nullptr || !s->chunks.has(chunk.index) || s->chunks[chunk.index].task == kNobody)
    return nullptr;
  return &s->chunks[chunk.index];
}

WorkerState* Scheduler::find(WorkerId worker) {
  if (worker.value() >= workers_.size()) return nullptr;
  WorkerState& found = workers_[worker.value()];
  return found.health == WorkerHealth::gone ? nullptr : &found;
}

void Scheduler::touch(std::uint32_t worker) {
  if (workers_[worker].dirty) return;
  workers_[worker].dirty = true;
  dirty_.push_back(worker);
}

/// Until now they had nobody to hand their data over to.
void Scheduler::touch_leaving() {
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].health == WorkerHealth::leaving) touch(i);
  }
}

/// Those who have the chunk may have to send it, or need not any more.
void Scheduler::touch_leaving(const ChunkState& chunk) {
  for (std::uint32_t i = chunk.first_copy; i != kNobody; i = copies_[i].next_of_chunk)
    if (workers_[copies_[i].worker].health == WorkerHealth::leaving) touch(copies_[i].worker);
}

void Scheduler::set_health(std::uint32_t worker, WorkerHealth health) {
  WorkerState& w = workers_[worker];
  if (w.health == WorkerHealth::well) std::erase(well_, worker);
  w.health = health;
  if (health == WorkerHealth::well) {
    well_.push_back(worker);
    if (well_.size() == 1) touch_leaving();
  }
  hungry_.set(worker, false);
  touch(worker);
}

std::uint32_t Scheduler::find_copy(const ChunkState& chunk, std::uint32_t worker) const {
  std::uint32_t copy = chunk.first_copy;
  while (copy != kNobody && copies_[copy].worker != worker) copy = copies_[copy].next_of_chunk;
  return copy;
}

void Scheduler::add_copy(SessionState& s, std::uint32_t chunk, std::uint32_t worker,
                         std::uint64_t bytes, bool pending) {
  ChunkState& c = s.chunks[chunk];
  WorkerState& w = workers_[worker];
  const std::uint32_t copy = copies_.add({.session = s.id,
                                          .chunk = chunk,
                                          .worker = worker,
                                          .next_of_chunk = c.first_copy,
                                          .next_of_worker = w.first_copy,
                                          .bytes = bytes,
                                          .pending = pending});
  c.first_copy = copy;
  if (w.first_copy != kNobody) copies_[w.first_copy].previous_of_worker = copy;
  w.first_copy = copy;
  if (pending) {
    w.promised += bytes;
    return;
  }
  w.held += bytes;
  if (c.copies++ == 0) arrive(s, chunk);
}

void Scheduler::remove_copy(SessionState& s, std::uint32_t copy) {
  const CopyState gone = copies_[copy];
  ChunkState& c = s.chunks[gone.chunk];
  WorkerState& w = workers_[gone.worker];
  if (c.first_copy == copy) {
    c.first_copy = gone.next_of_chunk;
  } else {
    std::uint32_t before = c.first_copy;
    while (copies_[before].next_of_chunk != copy) before = copies_[before].next_of_chunk;
    copies_[before].next_of_chunk = gone.next_of_chunk;
  }
  (gone.previous_of_worker == kNobody ? w.first_copy
                                      : copies_[gone.previous_of_worker].next_of_worker) =
      gone.next_of_worker;
  if (gone.next_of_worker != kNobody)
    copies_[gone.next_of_worker].previous_of_worker = gone.previous_of_worker;
  copies_.remove(copy);
  touch(gone.worker);
  if (gone.pending) {
    w.promised -= gone.bytes;
    touch_leaving(c);
    return;
  }
  w.held -= gone.bytes;
  if (--c.copies == 0 && c.needed()) gone_.emplace_back(&s, gone.chunk);
}

std::uint32_t Scheduler::find_attempt(const TaskState& task, WorkerId worker,
                                      std::uint64_t number) const {
  std::uint32_t attempt = task.first_attempt;
  while (attempt != kNobody &&
         (attempts_[attempt].number != number || attempts_[attempt].worker != worker.value()))
    attempt = attempts_[attempt].next_of_task;
  return attempt;
}

void Scheduler::add_attempt(SessionState& s, std::uint32_t task, std::uint32_t worker,
                            std::uint64_t promised) {
  TaskState& t = s.tasks[task];
  WorkerState& w = workers_[worker];
  const std::uint32_t attempt = attempts_.add({.session = s.id,
                                               .task = task,
                                               .number = next_attempt_++,
                                               .worker = worker,
                                               .next_of_task = t.first_attempt,
                                               .previous_of_worker = w.last_attempt,
                                               .promised = promised});
  t.first_attempt = attempt;
  (w.last_attempt == kNobody ? w.first_attempt : attempts_[w.last_attempt].next_of_worker) =
      attempt;
  w.last_attempt = attempt;
  w.promised += promised;
  overfull_.set(worker, ++w.attempts > w.threads);
  ++s.attempts;
}

void Scheduler::remove_attempt(SessionState& s, std::uint32_t attempt) {
  const AttemptState gone = attempts_[attempt];
  TaskState& t = s.tasks[gone.task];
  WorkerState& w = workers_[gone.worker];
  std::uint32_t* link = &t.first_attempt;
  while (*link != attempt) link = &attempts_[*link].next_of_task;
  *link = gone.next_of_task;
  (gone.previous_of_worker == kNobody ? w.first_attempt
                                      : attempts_[gone.previous_of_worker].next_of_worker) =
      gone.next_of_worker;
  (gone.next_of_worker == kNobody ? w.last_attempt
                                  : attempts_[gone.next_of_worker].previous_of_worker) =
      gone.previous_of_worker;
  attempts_.remove(attempt);
  w.promised -= gone.promised;
  overfull_.set(gone.worker, --w.attempts > w.threads);
  --s.attempts;
  touch(gone.worker);
}

void Scheduler::cancel_attempts(SessionState& s, std::uint32_t task) {
  const TaskState& t = s.tasks[task];
  while (t.first_attempt != kNobody) {
    const AttemptState& a = attempts_[t.first_attempt];
    actions_->emplace_back(CancelTask{WorkerId(a.worker), {s.id, task}, a.number});
    remove_attempt(s, t.first_attempt);
  }
}

void Scheduler::enqueue(SessionState& s, std::uint32_t task, std::uint32_t worker) {
  TaskState& t = s.tasks[task];
  t.phase = TaskPhase::ready;
  t.queue = worker;
  WorkerState& queue = worker == kNobody ? nowhere_ : workers_[worker];
  auto lane = std::find_if(queue.lanes.begin(), queue.lanes.end(),
                           [&](const Lane& l) { return l.session == s.id; });
  if (lane == queue.lanes.end()) lane = queue.lanes.insert(lane, Lane{s.id, {}});
  lane->heap.push_back(std::uint64_t{t.priority} << 32 | task);
  std::push_heap(lane->heap.begin(), lane->heap.end(), std::greater<>());
  ++(worker == kNobody ? nowhere_ready_ : ready_[worker]);
  ++total_ready_;
  if (worker != kNobody) touch(worker);
}

void Scheduler::unready(TaskState& task) {
  --(task.queue == kNobody ? nowhere_ready_ : ready_[task.queue]);
  --total_ready_;
  task.queue = kNobody;
  task.phase = TaskPhase::waiting;
}

}  // namespace muster::engine
