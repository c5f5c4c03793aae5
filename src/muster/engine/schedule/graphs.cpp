#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

void Scheduler::end_if_complete(SessionState& s, std::uint32_t graph) {
  GraphState& g = s.graphs.at(graph);
  if (g.missing > 0) return;
  std::erase(s.unfinished, graph);
  if (g.ended) return;
  g.ended = true;
  actions_->emplace_back(GraphEnded{s.id, GraphId(graph), GraphOutcome::finished, {}});
}

/// Ends a graph without its results; what only it needed goes.
void Scheduler::end_graph(SessionState& s, std::uint32_t graph, GraphOutcome outcome,
                          std::string report) {
  GraphState& g = s.graphs.at(graph);
  for (const std::uint32_t chunk : g.wanted) {
    --s.chunks[chunk].pins;
    loose_.emplace_back(&s, chunk);
  }
  g.wanted.clear();
  g.missing = 0;
  std::erase(s.unfinished, graph);
  g.open = false;
  g.ended = true;
  actions_->emplace_back(GraphEnded{s.id, GraphId(graph), outcome, std::move(report)});
  close_graph(s, graph);
}

/// Forgets the tasks of a graph that nothing will be appended to, as far as nobody can need them.
void Scheduler::close_graph(SessionState& s, std::uint32_t graph) {
  settle();
  const auto found = s.graphs.find(graph);
  if (found == s.graphs.end()) return;
  const std::vector<TaskRange> ranges = std::move(found->second.ranges);
  found->second.ranges.clear();
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    for (std::uint32_t task = range->last; task-- > range->first;)
      if (s.tasks.has(task) && !s.tasks[task].retired) try_retire(s, task);
  settle();
  if (s.graphs.contains(graph)) forget_if_empty(s, graph);
}

/// Ends all graphs that cannot finish without the task.
void Scheduler::fail_task(SessionState& s, std::uint32_t task, const std::string& report) {
  std::set<std::uint32_t> tasks{task};
  std::set<std::uint32_t> chunks;
  std::vector<std::uint32_t> next{task};
  while (!next.empty()) {
    const TaskState& t = s.tasks[next.back()];
    next.pop_back();
    for (std::uint32_t c = t.first_chunk; c < t.first_chunk + t.chunks; ++c) {
      if (s.chunks[c].copies > 0) continue;
      if (s.chunks[c].pins > 0) chunks.insert(c);
      for (std::uint32_t e = s.chunks[c].first_reader; e != kNobody; e = s.edges[e].next)
        if (is_active(s.tasks[s.edges[e].task].phase) && tasks.insert(s.edges[e].task).second)
          next.push_back(s.edges[e].task);
    }
  }
  std::vector<std::uint32_t> ending;
  for (const auto& [id, graph] : s.graphs)
    if (std::any_of(graph.wanted.begin(), graph.wanted.end(),
                    [&](std::uint32_t chunk) { return chunks.contains(chunk); }))
      ending.push_back(id);
  for (const std::uint32_t id : ending) end_graph(s, id, GraphOutcome::failed, report);
}

std::string Scheduler::name(const SessionState& s, std::uint32_t task) const {
  return fmt::format("[{}] task {} of session {}", s.operators[s.tasks[task].operator_name].name,
                     task, s.id.value());
}

void Scheduler::on(const ChunksReleased& event) {
  SessionState* const s = find(event.session);
  if (s == nullptr) return;
  const auto found = s->graphs.find(event.graph.value());
  if (found == s->graphs.end()) return;
  GraphState& graph = found->second;
  std::vector<std::uint32_t> released = event.chunks;
  std::sort(released.begin(), released.end());
  released.erase(std::unique(released.begin(), released.end()), released.end());
  std::vector<std::uint32_t> kept;
  std::vector<std::uint32_t> freed;
  std::set_difference(graph.wanted.begin(), graph.wanted.end(), released.begin(), released.end(),
                      std::back_inserter(kept));
  std::set_intersection(graph.wanted.begin(), graph.wanted.end(), released.begin(), released.end(),
                        std::back_inserter(freed));
  graph.wanted = std::move(kept);
  for (const std::uint32_t chunk : freed) {
    ChunkState& c = s->chunks[chunk];
    if (c.copies == 0) --graph.missing;
    --c.pins;
    loose_.emplace_back(s, chunk);
  }
  end_if_complete(*s, event.graph.value());
  settle();
  if (s->graphs.contains(event.graph.value())) forget_if_empty(*s, event.graph.value());
}

void Scheduler::on(const GraphCancelled& event) {
  SessionState* const s = find(event.session);
  if (s == nullptr || !s->graphs.contains(event.graph.value())) return;
  end_graph(*s, event.graph.value(), GraphOutcome::cancelled, "cancelled");
}

void Scheduler::on(const SessionClosed& event) {
  SessionState* const s = find(event.session);
  if (s == nullptr) return;
  for (std::uint32_t task = 0; task < s->tasks.size(); ++task) {
    if (!s->tasks.has(task) || s->tasks[task].retired) continue;
    if (s->tasks[task].phase == TaskPhase::ready) unready(s->tasks[task]);
    cancel_attempts(*s, task);
  }
  for (std::uint32_t chunk = 0; chunk < s->chunks.size(); ++chunk) {
    if (!s->chunks.has(chunk)) continue;
    ChunkState& c = s->chunks[chunk];
    c.readers = c.pins = 0;
    while (c.first_copy != kNobody) {
      actions_->emplace_back(DropChunk{WorkerId(copies_[c.first_copy].worker), {s->id, chunk}});
      remove_copy(*s, c.first_copy);
    }
  }
  sessions_.erase(event.session);
}

}  // namespace muster::engine
