#include <chrono>

#include "muster/engine/schedule/journal.h"
#include "tests/sim/schedule_cluster.h"

namespace muster::sim {

ScheduleOutcome ScheduleCluster::run() {
  for (int i = 0; i < plan_.workers; ++i) join();
  for (int i = 0; i < plan_.sessions; ++i) start_session(static_cast<std::uint32_t>(i));
  later(kStep, [this] { step(); });
  if (plan_.exodus)
    later(2 * kStep, [this] {
      for (const auto& w : workers_) leave(*w);
    });
  work([this] { return has_ended(); });
  if (!fails()) check_results();
  if (!fails()) release();
  return out_;
}

bool ScheduleCluster::fails() const { return !out_.violation.empty(); }

void ScheduleCluster::violate(std::string what) {
  if (!fails()) out_.violation = fmt::format("at {} ms: {}", now_ / kMillisecond, what);
}

void ScheduleCluster::later(std::int64_t delay, std::function<void()> act) {
  due_.push({now_ + delay, turn_++, std::move(act)});
}

bool ScheduleCluster::has_ended() const {
  for (const SimGraph& graph : graphs_)
    if (!graph.ended || (graph.stages > 0 && !graph.failed)) return false;
  return true;
}

void ScheduleCluster::feed(const ScheduleEvent& event) {
  if (plan_.restarts) {
    const std::vector<std::byte> record = encode({now_, event});
    journal_.insert(journal_.end(), record.begin(), record.end());
  }
  ScheduleActions actions;
  const auto start = std::chrono::steady_clock::now();
  scheduler_->handle(now_, event, actions);
  out_.scheduler_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++out_.events;
  for (ScheduleAction& action : actions) std::visit([this](auto& a) { carry_out(a); }, action);
}

void ScheduleCluster::carry_out(RunTask& run) {
  SimWorker& w = *workers_[run.worker.value()];
  SimSession& s = sessions_[run.task.session.value()];
  const SimTask& task = s.tasks[run.task.index];
  std::uint64_t need = 0;
  for (std::size_t i = 0; i < task.spec.output_bytes.size(); ++i)
    need += s.known[task.first_chunk + i];
  for (const InputPlace& input : run.inputs) {
    const std::uint64_t chunk = key({run.task.session, input.chunk});
    if (input.from.value() >= workers_.size() ||
        !workers_[input.from.value()]->known.contains(chunk))
      return violate(fmt::format("task {} is to run, but worker {} does not have chunk {}",
                                 run.task.index, input.from.value(), input.chunk));
    if (!w.known.contains(chunk) && !w.coming.contains(chunk)) need += s.known[input.chunk];
  }
  if (run.inputs.size() != task.spec.inputs.size()) violate("a task got other inputs");
  if (!w.is_member) violate("a task is to run on a worker that is gone");
  if (!w.promised.empty() && w.used + need > w.budget)
    violate(fmt::format("worker {} of {} bytes was promised {}", w.id, w.budget, w.used + need));
  w.promised[run.attempt] = need;
  w.used += need;
  ++out_.runs;
  send(w, [this, &w, run] {
    w.queue.push_back(run);
    pump(w);
  });
}

void ScheduleCluster::carry_out(const CopyChunks& copy) {
  SimWorker& to = *workers_[copy.to.value()];
  for (const ChunkId chunk : copy.chunks) {
    const std::uint64_t bytes = sessions_[chunk.session.value()].known[chunk.index];
    if (to.coming.emplace(key(chunk), bytes).second) to.used += bytes;
  }
  send(to, [this, &to, copy] {
    ChunksCopied copied{WorkerId(to.id), {}};
    ChunksLost lost{WorkerId(to.id), {}};
    for (const ChunkId chunk : copy.chunks)
      if (fetch(to, copy.from.value(), chunk))
        copied.chunks.push_back({chunk, bytes_of(chunk)});
      else
        lost.chunks.push_back(chunk);
    if (!copied.chunks.empty()) tell(to, copied);
    if (!lost.chunks.empty()) tell(to, lost);
  });
}

void ScheduleCluster::carry_out(const DropChunk& drop) {
  SimWorker& w = *workers_[drop.worker.value()];
  unlearn(w, key(drop.chunk));
  send(w, [&w, drop] { w.store.erase(key(drop.chunk)); });
}

void ScheduleCluster::carry_out(const CancelTask& cancel) {
  SimWorker& w = *workers_[cancel.worker.value()];
  fulfil(w, cancel.attempt);
  // What runs already goes on, as kernels do.
  send(w, [&w, cancel] {
    std::erase_if(w.queue, [&](const RunTask& run) { return run.attempt == cancel.attempt; });
  });
}

void ScheduleCluster::carry_out(const ForgetTask& forget) {
  SimWorker& w = *workers_[forget.worker.value()];
  const SimTask& task = sessions_[forget.task.session.value()].tasks[forget.task.index];
  for (std::uint32_t i = 0; i < task.spec.output_bytes.size(); ++i) {
    const std::uint64_t chunk = key({forget.task.session, task.first_chunk + i});
    unlearn(w, chunk);
    send(w, [&w, chunk] { w.store.erase(chunk); });
  }
}

void ScheduleCluster::carry_out(const GraphEnded& ended) {
  for (SimGraph& graph : graphs_) {
    if (graph.session != ended.session.value() || graph.graph != ended.graph.value()) continue;
    if (graph.ended) violate("a graph ends twice");
    graph.ended = true;
    graph.failed = ended.outcome != GraphOutcome::finished;
    const bool is_poisoned = has_poison_ && graph.session == 0 && graph.graph == poisoned_graph_;
    if (graph.is_cancelled) return;
    if (graph.failed && !is_poisoned) violate("a graph failed: " + ended.report);
    if (!graph.failed && is_poisoned) violate("the poisoned graph finished");
    if (graph.failed && ended.report.find("was running on 3 workers") == std::string::npos)
      violate("the report does not say why: " + ended.report);
    if (!graph.failed && graph.stages > 0) later(kMillisecond, [this, &graph] { submit(graph); });
  }
}

void ScheduleCluster::carry_out(const GraphProgress& progress) {
  if (progress.done > progress.total) violate("more was done than there was to do");
}

void ScheduleCluster::carry_out(const WorkerReleased& released) {
  SimWorker& w = *workers_[released.worker.value()];
  ++out_.departures;
  send(w, [this, &w] { die(w, false); });
}

void ScheduleCluster::unlearn(SimWorker& w, std::uint64_t chunk) {
  for (auto* table : {&w.known, &w.coming})
    if (const auto found = table->find(chunk); found != table->end()) {
      w.used -= found->second;
      table->erase(found);
    }
}

void ScheduleCluster::learn(SimWorker& w, ChunkId chunk) {
  SimSession& s = sessions_[chunk.session.value()];
  s.known[chunk.index] = s.bytes[chunk.index];
  unlearn(w, key(chunk));
  w.known[key(chunk)] = s.known[chunk.index];
  w.used += s.known[chunk.index];
}

void ScheduleCluster::fulfil(SimWorker& w, std::uint64_t attempt) {
  if (const auto found = w.promised.find(attempt); found != w.promised.end()) {
    w.used -= found->second;
    w.promised.erase(found);
  }
}

void ScheduleCluster::note(const TaskFinished& event) {
  SimWorker& w = *workers_[event.worker.value()];
  if (!w.promised.contains(event.attempt)) ++out_.late;
  fulfil(w, event.attempt);
  const SimTask& task = sessions_[event.task.session.value()].tasks[event.task.index];
  for (std::uint32_t i = 0; i < task.spec.output_bytes.size(); ++i)
    learn(w, {event.task.session, task.first_chunk + i});
}

void ScheduleCluster::note(const TaskFailed& event) {
  fulfil(*workers_[event.worker.value()], event.attempt);
}

void ScheduleCluster::note(const ChunksCopied& event) {
  for (const HeldChunk& held : event.chunks) learn(*workers_[event.worker.value()], held.chunk);
}

void ScheduleCluster::note(const ChunksLost& event) {
  for (const ChunkId chunk : event.chunks) unlearn(*workers_[event.worker.value()], key(chunk));
}

void ScheduleCluster::note(const TaskStarted&) {}

ScheduleOutcome run_schedule(const SchedulePlan& plan) { return ScheduleCluster(plan).run(); }

}  // namespace muster::sim
