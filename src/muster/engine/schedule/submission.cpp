#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

void Scheduler::on(const GraphSubmitted& event) {
  if (std::string why = refusal(event); !why.empty()) {
    SessionState* const s = find(event.session);
    if (s != nullptr && s->graphs.contains(event.graph.value()))
      return end_graph(*s, event.graph.value(), GraphOutcome::failed, std::move(why));
    actions_->emplace_back(
        GraphEnded{event.session, event.graph, GraphOutcome::failed, std::move(why)});
    return;
  }
  SessionState& s = sessions_[event.session];
  s.id = event.session;
  GraphState& graph = s.graphs[event.graph.value()];
  append(s, graph, event);
  sources_.clear();
  for (const std::uint32_t chunk : event.wanted) order(s, s.chunks[chunk].task);
  spread_sources(s);
  graph.ended = false;
  want(s, graph, event.graph.value(), event.wanted);
  // May end and forget the graph, so nothing follows.
  if (event.last) graph.open = false;
  end_if_complete(s, event.graph.value());
  if (event.last) close_graph(s, event.graph.value());
}

/// Says what is wrong with a submission; nothing if it can be taken.
std::string Scheduler::refusal(const GraphSubmitted& event) {
  SessionState* const s = find(event.session);
  if (s != nullptr) {
    const auto graph = s->graphs.find(event.graph.value());
    if (graph != s->graphs.end() && !graph->second.open)
      return fmt::format("graph {} of session {} takes no more tasks: its last ones were submitted",
                         event.graph.value(), event.session.value());
  }
  const std::uint64_t known = s == nullptr ? 0 : s->chunks.size();
  std::uint64_t made = known;
  const auto is_there = [&](std::uint32_t chunk) {
    return chunk < made && (chunk >= known || find(ChunkId{event.session, chunk}) != nullptr);
  };
  for (std::size_t i = 0; i < event.tasks.size(); ++i) {
    for (const std::uint32_t chunk : event.tasks[i].inputs)
      if (!is_there(chunk))
        return fmt::format("task {} of the graph reads chunk {}, which {}", i, chunk,
                           chunk < made ? "was released, or lost with a worker: upload it again"
                                        : "no earlier task makes");
    if (event.tasks[i].operator_name >= event.operator_names.size())
      return fmt::format("task {} of the graph names operator {} of {}", i,
                         event.tasks[i].operator_name, event.operator_names.size());
    if (event.tasks[i].external && !event.tasks[i].inputs.empty())
      return fmt::format("task {} of the graph is uploaded, but reads chunks", i);
    made += event.tasks[i].output_bytes.size();
  }
  for (const std::uint32_t chunk : event.wanted)
    if (!is_there(chunk))
      return fmt::format("chunk {} is wanted, but {}", chunk,
                         chunk < made ? "was released" : "no task makes it");
  if (made >= kNobody) return fmt::format("a session has at most {} chunks", kNobody);
  return {};
}

void Scheduler::append(SessionState& s, GraphState& graph, const GraphSubmitted& event) {
  std::vector<std::uint32_t> names;
  for (const std::string& name : event.operator_names) {
    const auto [found, is_new] =
        s.operator_index.emplace(name, static_cast<std::uint32_t>(s.operators.size()));
    if (is_new) s.operators.push_back({.name = name});
    names.push_back(found->second);
  }
  const std::uint32_t first = s.tasks.size();
  for (const TaskSpec& spec : event.tasks)
    add_task(s, spec, event.graph.value(), names[spec.operator_name]);
  graph.ranges.push_back({first, s.tasks.size()});
  graph.tasks += s.tasks.size() - first;
}

void Scheduler::add_task(SessionState& s, const TaskSpec& spec, std::uint32_t graph,
                         std::uint32_t operator_name) {
  const std::uint32_t task = s.tasks.size();
  const std::uint32_t first_edge = s.edges.size();
  for (const std::uint32_t chunk : spec.inputs) {
    ChunkState& c = s.chunks[chunk];
    const std::uint32_t edge = s.edges.add({.chunk = chunk, .task = task, .next = c.first_reader});
    if (c.first_reader != kNobody) s.edges[c.first_reader].previous = edge;
    c.first_reader = edge;
    ++c.lineage;
  }
  const std::uint32_t first_chunk = s.chunks.size();
  for (const std::uint64_t bytes : spec.output_bytes) s.chunks.add({.task = task, .bytes = bytes});
  s.tasks.add({.graph = graph,
               .first_edge = first_edge,
               .edges = static_cast<std::uint32_t>(spec.inputs.size()),
               .first_chunk = first_chunk,
               .chunks = static_cast<std::uint32_t>(spec.output_bytes.size()),
               .operator_name = operator_name,
               .external = spec.external,
               .scatter = spec.scatter,
               .repeatable = spec.repeatable});
}

/// Pins chunks and has those made that are not there.
void Scheduler::want(SessionState& s, GraphState& graph, std::uint32_t graph_id,
                     std::vector<std::uint32_t> chunks) {
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  std::vector<std::uint32_t> added;
  std::set_difference(chunks.begin(), chunks.end(), graph.wanted.begin(), graph.wanted.end(),
                      std::back_inserter(added));
  std::vector<std::uint32_t> both;
  both.reserve(graph.wanted.size() + added.size());
  std::merge(graph.wanted.begin(), graph.wanted.end(), added.begin(), added.end(),
             std::back_inserter(both));
  graph.wanted = std::move(both);
  const bool was_complete = graph.missing == 0;
  for (const std::uint32_t chunk : added) {
    ++s.chunks[chunk].pins;
    if (s.chunks[chunk].copies == 0) ++graph.missing;
  }
  if (was_complete && graph.missing > 0) s.unfinished.push_back(graph_id);
  for (const std::uint32_t chunk : added)
    if (s.chunks[chunk].copies == 0) activate(s, s.chunks[chunk].task);
}

/// Gives priorities in the order of a depth-first walk from the results, each task after those it
/// reads: what belongs to one result is finished before the next is begun, so that few chunks are
/// alive at a time.
void Scheduler::order(SessionState& s, std::uint32_t root) {
  constexpr std::uint32_t kOnPath = kNobody - 1;
  const auto enter = [&](std::uint32_t task) {
    if (s.tasks[task].priority != kNobody) return false;
    s.tasks[task].priority = kOnPath;
    path_.emplace_back(task, 0);
    return true;
  };
  enter(root);
  while (!path_.empty()) {
    auto& [task, edge] = path_.back();
    TaskState& t = s.tasks[task];
    bool descended = false;
    while (!descended && edge < t.edges) {
      const std::uint32_t chunk = s.edges[t.first_edge + edge].chunk;
      ++edge;  // before enter(), which may move the path
      descended = enter(s.chunks[chunk].task);
      if (descended) break;
    }
    if (descended) continue;
    t.priority = s.next_priority++;
    if (is_source(s, t)) sources_.push_back(task);
    path_.pop_back();
  }
}

/// It reads nothing, or so little of what others read too that all workers are alike to it.
bool Scheduler::is_source(SessionState& s, const TaskState& task) {
  constexpr std::uint64_t kLittle = 4096;
  constexpr std::uint64_t kMuch = 16 * kLittle;
  if (task.edges == 0) return true;
  if (task.chunks == 0 || s.chunks[task.first_chunk].bytes < kMuch) return false;
  for (std::uint32_t e = task.first_edge; e < task.first_edge + task.edges; ++e) {
    const ChunkState& chunk = s.chunks[s.edges[e].chunk];
    if (chunk.bytes > kLittle || s.tasks[chunk.task].edges > 0) return false;
  }
  return true;
}

/// Sources go to workers in blocks, in order of priority: neighbours, which are likely
/// to be read together, are made on one worker.
void Scheduler::spread_sources(SessionState& s) {
  std::vector<std::uint32_t> seats;
  for (const std::uint32_t worker : well_)
    seats.insert(seats.end(), workers_[worker].threads, worker);
  if (seats.empty()) return;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    s.tasks[sources_[i]].home = seats[i * seats.size() / sources_.size()];
}

}  // namespace muster::engine
