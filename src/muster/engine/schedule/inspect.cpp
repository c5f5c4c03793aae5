#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

bool Scheduler::knows(TaskId task) const {
  const auto s = sessions_.find(task.session);
  return s != sessions_.end() && s->second.tasks.has(task.index) &&
         !s->second.tasks[task.index].retired;
}

std::optional<TaskView> Scheduler::task(TaskId task) const {
  if (!knows(task)) return std::nullopt;
  const SessionState& s = sessions_.at(task.session);
  const TaskState& t = s.tasks[task.index];
  TaskView view{t.phase, s.operators[t.operator_name].name, {}, 0, -1};
  if (t.first_attempt == kNobody) return view;
  const AttemptState& attempt = attempts_[t.first_attempt];
  view.worker = WorkerId(attempt.worker);
  view.attempt = attempt.number;
  view.started = attempt.started;
  return view;
}

std::optional<ChunkView> Scheduler::chunk(ChunkId chunk) const {
  const auto s = sessions_.find(chunk.session);
  if (s == sessions_.end() || !s->second.chunks.has(chunk.index)) return std::nullopt;
  const ChunkState& c = s->second.chunks[chunk.index];
  if (c.task == kNobody) return std::nullopt;
  ChunkView view{c.bytes, c.task, chunk.index - s->second.tasks[c.task].first_chunk, {}, false};
  for (std::uint32_t copy = c.first_copy; copy != kNobody; copy = copies_[copy].next_of_chunk)
    if (!copies_[copy].pending) view.holders.push_back(WorkerId(copies_[copy].worker));
  view.coming = is_active(s->second.tasks[c.task].phase);
  return view;
}

WorkerView Scheduler::worker(WorkerId worker) const {
  if (worker.value() >= workers_.size()) return {};
  const WorkerState& w = workers_[worker.value()];
  return {w.health, w.threads, w.budget, w.held, w.spilled, w.attempts, ready_[worker.value()]};
}

std::uint32_t Scheduler::next_task(SessionId session) const {
  const auto s = sessions_.find(session);
  return s == sessions_.end() ? 0 : s->second.tasks.size();
}

std::uint32_t Scheduler::next_chunk(SessionId session) const {
  const auto s = sessions_.find(session);
  return s == sessions_.end() ? 0 : s->second.chunks.size();
}

}  // namespace muster::engine
