#include <algorithm>

#include "tests/sim/schedule_cluster.h"

namespace muster::sim {

void ScheduleCluster::send(SimWorker& w, std::function<void()> act) {
  const std::uint64_t connection = w.connection;
  w.last_to = std::max(w.last_to, now_ + delay());
  later(w.last_to - now_, [&w, connection, act = std::move(act)] {
    if (w.connection == connection) at_worker(w, act);
  });
}

void ScheduleCluster::at_worker(SimWorker& w, const std::function<void()>& act) {
  if (!w.alive) return;
  w.frozen ? w.deferred.push_back(act) : act();
}

bool ScheduleCluster::fetch(SimWorker& to, std::uint32_t from, ChunkId chunk) {
  if (to.store.contains(key(chunk))) return true;
  const SimWorker& holder = *workers_[from];
  const auto found = holder.store.find(key(chunk));
  if (!holder.alive || holder.frozen || found == holder.store.end()) return false;
  to.store[key(chunk)] = found->second;
  return true;
}

void ScheduleCluster::pump(SimWorker& w) {
  while (w.running.size() < w.threads && !w.queue.empty()) {
    const auto run = std::make_shared<RunTask>(std::move(w.queue.front()));
    w.queue.pop_front();
    w.running[run->attempt] = run->task;
    later(delay(), [this, &w, run] { at_worker(w, [this, &w, run] { begin(w, *run); }); });
  }
}

void ScheduleCluster::begin(SimWorker& w, const RunTask& run) {
  ChunksCopied copied{WorkerId(w.id), {}};
  TaskFailed failed{WorkerId(w.id), run.task, run.attempt, TaskFault::inputs_missing, "", {}};
  std::vector<std::uint64_t> values;
  for (const InputPlace& input : run.inputs) {
    const ChunkId chunk{run.task.session, input.chunk};
    const bool had = w.store.contains(key(chunk));
    if (!fetch(w, input.from.value(), chunk)) {
      failed.missing.push_back(input.chunk);
      continue;
    }
    if (!had) copied.chunks.push_back({chunk, bytes_of(chunk)});
    values.push_back(w.store[key(chunk)]);
  }
  if (!copied.chunks.empty()) tell(w, copied);
  if (failed.missing.empty() && plan_.faults > 0 && random_.chance(0.01))
    failed.fault = TaskFault::retryable;
  else if (failed.missing.empty())
    return start(w, run, std::move(values));
  tell(w, failed);
  w.running.erase(run.attempt);
  pump(w);
}

void ScheduleCluster::start(SimWorker& w, const RunTask& run, std::vector<std::uint64_t> values) {
  tell(w, TaskStarted{WorkerId(w.id), run.task, run.attempt});
  if (has_poison_ && run.task == TaskId{SessionId(0), poisoned_}) return die(w, true);
  const std::int64_t time = random_.chance(0.002) ? 500 * kMillisecond : 20 * delay();
  const TaskId task = run.task;
  const std::uint64_t attempt = run.attempt;
  later(time, [this, &w, task, attempt, values = std::move(values)] {
    at_worker(w, [this, &w, task, attempt, values] { finish(w, task, attempt, values); });
  });
}

void ScheduleCluster::finish(SimWorker& w, TaskId task, std::uint64_t attempt,
                             const std::vector<std::uint64_t>& values) {
  const SimSession& s = sessions_[task.session.value()];
  TaskFinished finished{WorkerId(w.id), task, attempt, {}};
  for (std::uint32_t i = 0; i < s.tasks[task.index].spec.output_bytes.size(); ++i) {
    const std::uint32_t chunk = s.tasks[task.index].first_chunk + i;
    w.store[key({task.session, chunk})] = value_of(task.index, i, values);
    if (w.store[key({task.session, chunk})] != s.values[chunk])
      violate(fmt::format("chunk {} is wrong", chunk));
    finished.output_bytes.push_back(s.bytes[chunk]);
  }
  tell(w, finished);
  w.running.erase(attempt);
  pump(w);
}

}  // namespace muster::sim
