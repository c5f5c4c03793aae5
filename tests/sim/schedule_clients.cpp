#include <set>

#include "tests/sim/schedule_cluster.h"

namespace muster::sim {

void ScheduleCluster::start_session(std::uint32_t id) {
  sessions_.emplace_back();
  for (std::uint32_t g = 0; g < 2; ++g) {
    SimGraph graph;
    graph.session = id;
    graph.graph = g;
    graph.stages = 1 + static_cast<int>(g);
    graphs_.push_back(std::move(graph));
  }
  for (std::uint32_t g = 0; g < 2; ++g) {
    const std::size_t index = graphs_.size() - 2 + g;
    later(static_cast<std::int64_t>(random_.below(50)) * kMillisecond,
          [this, index] { submit(graphs_[index]); });
  }
}

void ScheduleCluster::submit(SimGraph& graph) {
  SimSession& s = sessions_[graph.session];
  GraphSubmitted submitted = random_graph(random_, s, plan_.tasks, graph.wanted);
  submitted.session = SessionId(graph.session);
  submitted.graph = GraphId(graph.graph);
  submitted.last = --graph.stages == 0;
  graph.wanted.insert(graph.wanted.end(), submitted.wanted.begin(), submitted.wanted.end());
  graph.ended = false;
  graph.is_submitted = true;
  if (plan_.poison && graph.session == 0 && !has_poison_) {
    has_poison_ = true;
    // One that is sure to be needed.
    const std::uint32_t chunk = submitted.wanted.front();
    for (std::uint32_t t = 0; t < s.tasks.size(); ++t)
      if (s.tasks[t].first_chunk <= chunk) poisoned_ = t;
    poisoned_graph_ = graph.graph;
  }
  feed(submitted);
}

SimGraph* ScheduleCluster::any_open_graph() {
  SimGraph& graph = graphs_[random_.below(graphs_.size())];
  return graph.is_submitted && !graph.ended && !graph.wanted.empty() ? &graph : nullptr;
}

void ScheduleCluster::cancel_one() {
  SimGraph* const graph = any_open_graph();
  if (graph == nullptr || !plan_.cancels || random_.chance(0.7)) return;
  graph->is_cancelled = true;
  ++out_.cancellations;
  feed(GraphCancelled{SessionId(graph->session), GraphId(graph->graph)});
}

void ScheduleCluster::release_one() {
  SimGraph* const graph = any_open_graph();
  if (graph == nullptr) return;
  const std::uint32_t chunk = graph->wanted[random_.below(graph->wanted.size())];
  std::erase(graph->wanted, chunk);
  feed(ChunksReleased{SessionId(graph->session), GraphId(graph->graph), {chunk}});
}

void ScheduleCluster::check_results() {
  calm();
  std::set<std::uint64_t> wanted;
  for (const SimGraph& graph : graphs_)
    for (const std::uint32_t index : graph.wanted)
      if (!graph.failed) wanted.insert(key({SessionId(graph.session), index}));
  std::set<std::uint64_t> held;
  for (const auto& w : workers_) {
    if (!w->alive || !w->is_member) continue;
    for (const auto& [chunk, value] : w->store) {
      held.insert(chunk);
      if (!wanted.contains(chunk))
        violate(fmt::format("worker {} holds chunk {}, which nobody needs", w->id,
                            static_cast<std::uint32_t>(chunk)));
    }
  }
  for (const std::uint64_t chunk : wanted)
    if (!held.contains(chunk))
      violate(fmt::format("chunk {} is a result, but nowhere", static_cast<std::uint32_t>(chunk)));
}

void ScheduleCluster::calm() {
  calm_ = true;
  std::int64_t until = 0;
  work([&] {
    if (until == 0 || scheduler_->counts().resting > 0) until = now_ + 3000 * kMillisecond;
    return now_ >= until;
  });
}

void ScheduleCluster::release() {
  for (const SimGraph& graph : graphs_)
    if (graph.session % 2 == 0)
      feed(ChunksReleased{SessionId(graph.session), GraphId(graph.graph), graph.wanted});
  const ScheduleCounts before = scheduler_->counts();
  if (plan_.sessions == 1 && before.tasks + before.chunks + before.graphs > 0)
    violate(fmt::format("{} tasks, {} chunks and {} graphs are remembered after all was released",
                        before.tasks, before.chunks, before.graphs));
  for (std::uint32_t id = 0; id < sessions_.size(); ++id) feed(SessionClosed{SessionId(id)});
  calm();
  const ScheduleCounts counts = scheduler_->counts();
  if (counts.copies + counts.attempts + counts.ready + counts.sessions > 0)
    violate(fmt::format("{} copies, {} attempts, {} ready tasks and {} sessions are left",
                        counts.copies, counts.attempts, counts.ready, counts.sessions));
  for (const auto& w : workers_)
    if (w->alive && !w->store.empty())
      violate(fmt::format("worker {} still holds {} chunks", w->id, w->store.size()));
}

}  // namespace muster::sim
