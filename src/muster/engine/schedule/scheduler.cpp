#include "muster/engine/schedule/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

namespace muster::engine {
namespace {

constexpr Instant kPauseGrows = 4;
constexpr Instant kLongestPause = 10'000'000'000;

// The mean is of about so many tasks: few, so that short ones that follow long ones are soon given
// many at a time.
constexpr Instant kMeanOf = 8;
// What a worker says beyond this is not believed; sums of it must not overflow.
constexpr Instant kLongest = Instant{3600} * 1'000'000'000;

/// Before the next try of what failed so many times.
Instant pause_after(std::uint8_t failures, Instant first) {
  Instant pause = first;
  for (std::uint8_t before = 1; before < failures && pause < kLongestPause; ++before)
    pause *= kPauseGrows;
  return std::min(pause, kLongestPause);
}

}  // namespace

Scheduler::Scheduler(ScheduleOptions options) : options_(options), mean_(options.first_mean) {}

void Scheduler::handle(Instant now, const ScheduleEvent& event, ScheduleActions& actions) {
  now_ = now;
  actions_ = &actions;
  std::visit([this](const auto& e) { on(e); }, event);
  settle();
  while (!lost_uploads_.empty()) {
    const auto [s, task] = lost_uploads_.back();
    lost_uploads_.pop_back();
    const TaskState* const lost = find(TaskId{s->id, task});
    if (lost == nullptr || !is_active(lost->phase)) continue;
    fail_task(
        *s, task,
        fmt::format("{}: uploaded data was lost with the worker that held it; upload it again",
                    name(*s, task)));
  }
  dispatch();
  actions_ = nullptr;
}

void Scheduler::on(const TaskStarted& event) {
  TaskState* const task = find(event.task);
  if (task == nullptr || find(event.worker) == nullptr) return;
  const std::uint32_t attempt = find_attempt(*task, event.worker, event.attempt);
  if (attempt == kNobody) return;
  attempts_[attempt].started = now_;
  task->phase = TaskPhase::running;
}

void Scheduler::on(const TaskFinished& event) {
  if (find(event.worker) == nullptr) return;
  TaskState* const task = find(event.task);
  if (task == nullptr) {
    actions_->emplace_back(ForgetTask{event.worker, event.task});
    return;
  }
  SessionState& s = *find(event.task.session);
  const std::uint32_t attempt = find_attempt(*task, event.worker, event.attempt);
  if (attempt != kNobody) {
    measure(s, *task, attempts_[attempt], event.took);
    remove_attempt(s, attempt);
  }
  if (is_active(task->phase))
    return complete(s, event.task.index, event.worker.value(), event.output_bytes);
  // Somebody else was quicker, or nobody needs it any more.
  for (std::uint32_t i = 0; i < task->chunks; ++i) {
    ChunkState& c = s.chunks[task->first_chunk + i];
    if (c.copies == 0 && i < event.output_bytes.size()) c.bytes = event.output_bytes[i];
    if (find_copy(c, event.worker.value()) == kNobody)
      take_second(s, task->first_chunk + i, event.worker.value());
  }
}

/// Learns how long tasks take; `told` by the worker.
void Scheduler::measure(SessionState& s, const TaskState& task, const AttemptState& attempt,
                        Instant told) {
  if (told <= 0 && attempt.started < 0) return;
  const Instant took = told > 0 ? std::min(told, kLongest) : now_ - attempt.started;
  OperatorState& op = s.operators[task.operator_name];
  ++op.measured;
  op.total += took;
  mean_ += (took - mean_) / kMeanOf;
}

void Scheduler::on(const TaskFailed& event) {
  TaskState* const task = find(event.task);
  if (task == nullptr || find(event.worker) == nullptr) return;
  const std::uint32_t attempt = find_attempt(*task, event.worker, event.attempt);
  if (attempt == kNobody) return;
  SessionState& s = *find(event.task.session);
  remove_attempt(s, attempt);
  task->avoid = event.worker.value();
  if (event.fault == TaskFault::retryable) ++task->failures;
  if (event.fault == TaskFault::inputs_missing && ++task->misses >= options_.most_misses) {
    // Whoever is said to have them does not give them: they are made anew.
    task->misses = 0;
    ++task->failures;
    for (const std::uint32_t chunk : event.missing) {
      const ChunkState* const c = find(ChunkId{s.id, chunk});
      while (c != nullptr && c->first_copy != kNobody) {
        actions_->emplace_back(DropChunk{WorkerId(copies_[c->first_copy].worker), {s.id, chunk}});
        remove_copy(s, c->first_copy);
      }
    }
    recover();
  }
  const bool is_final = event.fault == TaskFault::error || task->failures > options_.most_failures;
  if (is_final) {
    cancel_attempts(s, event.task.index);
    task->phase = TaskPhase::waiting;
    return fail_task(
        s, event.task.index,
        fmt::format("{} failed on worker {}{}: {}", name(s, event.task.index), event.worker.value(),
                    task->failures > 1 ? fmt::format(" (tried {} times)", task->failures) : "",
                    event.message));
  }
  if (task->first_attempt != kNobody) return;
  const bool pauses = event.fault == TaskFault::retryable;
  requeue(s, event.task.index, pauses ? pause_after(task->failures, options_.retry_pause) : 0);
}

void Scheduler::on(const ChunksCopied& event) {
  if (find(event.worker) == nullptr) return;
  for (const HeldChunk& held : event.chunks) take_in(event.worker, held);
}

void Scheduler::on(const ChunksLost& event) {
  if (find(event.worker) == nullptr) return;
  for (const ChunkId chunk : event.chunks) {
    const ChunkState* const c = find(chunk);
    if (c == nullptr) continue;
    const std::uint32_t copy = find_copy(*c, event.worker.value());
    if (copy != kNobody) remove_copy(*find(chunk.session), copy);
  }
  recover();
}

void Scheduler::on(const MemoryReported& event) {
  WorkerState* const w = find(event.worker);
  if (w == nullptr) return;
  w->spilled = event.spilled;
  touch(event.worker.value());
}

ScheduleCounts Scheduler::counts() const {
  ScheduleCounts counts;
  for (const WorkerState& worker : workers_)
    if (worker.health != WorkerHealth::gone) ++counts.workers;
  counts.sessions = sessions_.size();
  for (const auto& [id, s] : sessions_) {
    counts.graphs += s.graphs.size();
    counts.tasks += s.tasks.live();
    counts.chunks += s.chunks.live();
  }
  counts.copies = copies_.live();
  counts.attempts = attempts_.live();
  counts.ready = total_ready_;
  counts.resting = rests_.size();
  return counts;
}

GraphProgress Scheduler::progress(SessionId session, GraphId graph) const {
  GraphProgress out{session, graph};
  const auto s = sessions_.find(session);
  if (s == sessions_.end()) return out;
  const auto g = s->second.graphs.find(graph.value());
  if (g == s->second.graphs.end()) return out;
  out.done = g->second.done;
  out.total = g->second.total;
  out.bytes = g->second.bytes;
  return out;
}

}  // namespace muster::engine
