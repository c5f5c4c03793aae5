#include <algorithm>
#include <map>
#include <utility>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

/// Makes a task needed, and in turn those that make the inputs that are nowhere.
void Scheduler::activate(SessionState& s, std::uint32_t task) {
  stack_.assign(1, task);
  while (!stack_.empty()) {
    const std::uint32_t next = stack_.back();
    stack_.pop_back();
    TaskState& t = s.tasks[next];
    if (is_active(t.phase)) continue;
    GraphState& graph = s.graphs.at(t.graph);
    t.phase == TaskPhase::done ? --graph.done : ++graph.total;
    graph.told = false;
    if (t.external && t.phase == TaskPhase::done) lost_uploads_.emplace_back(&s, next);
    t.phase = TaskPhase::waiting;
    t.missing = 0;
    t.resting = false;
    for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e) {
      ChunkState& chunk = s.chunks[s.edges[e].chunk];
      ++chunk.readers;
      if (chunk.copies > 0) continue;
      ++t.missing;
      if (!is_active(s.tasks[chunk.task].phase)) stack_.push_back(chunk.task);
    }
    if (t.missing == 0) make_ready(s, next);
  }
}

void Scheduler::make_ready(SessionState& s, std::uint32_t task) {
  if (s.tasks[task].external) return;
  enqueue(s, task, place(s, s.tasks[task]));
}

/// For a task that is needed and that nobody runs any more; after a pause, if there is one.
void Scheduler::requeue(SessionState& s, std::uint32_t task, Instant pause) {
  TaskState& t = s.tasks[task];
  t.phase = TaskPhase::waiting;
  t.resting = pause > 0;
  t.missing = t.resting ? 1 : 0;
  if (t.resting) rests_.push_back({now_ + pause, s.id, task});
  for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e)
    if (s.chunks[s.edges[e].chunk].copies == 0) ++t.missing;
  if (t.missing == 0) make_ready(s, task);
}

void Scheduler::end_rests() {
  std::vector<RestState> over;
  std::erase_if(rests_, [&](const RestState& rest) {
    if (rest.until > now_) return false;
    over.push_back(rest);
    return true;
  });
  for (const RestState& rest : over) {
    TaskState* const t = find(TaskId{rest.session, rest.task});
    if (t == nullptr || !std::exchange(t->resting, false)) continue;
    if (t->phase == TaskPhase::waiting && --t->missing == 0)
      make_ready(*find(rest.session), rest.task);
  }
}

/// A chunk that was nowhere is somewhere.
void Scheduler::arrive(SessionState& s, std::uint32_t chunk) {
  const ChunkState& c = s.chunks[chunk];
  for (std::uint32_t e = c.first_reader; e != kNobody; e = s.edges[e].next) {
    TaskState& reader = s.tasks[s.edges[e].task];
    if (reader.phase == TaskPhase::waiting && --reader.missing == 0) make_ready(s, s.edges[e].task);
  }
  if (is_active(s.tasks[c.task].phase)) conclude(s, c.task);
  if (c.pins == 0) return;
  const std::vector<std::uint32_t> unfinished = s.unfinished;
  for (const std::uint32_t id : unfinished) {
    GraphState& graph = s.graphs.at(id);
    if (!std::binary_search(graph.wanted.begin(), graph.wanted.end(), chunk)) continue;
    --graph.missing;
    end_if_complete(s, id);
  }
}

/// Has the needed chunks made again that lost their last copy. First all their readers learn of it,
/// then tasks become active, which count what is missing themselves.
void Scheduler::recover() {
  for (const auto& [s, chunk] : gone_) {
    const ChunkState& c = s->chunks[chunk];
    for (std::uint32_t e = c.first_reader; e != kNobody; e = s->edges[e].next) {
      TaskState& reader = s->tasks[s->edges[e].task];
      if (reader.phase == TaskPhase::ready && !options_.faults.forget_ready_readers) {
        unready(reader);
        reader.missing = 0;
      }
      if (reader.phase == TaskPhase::waiting) ++reader.missing;
    }
    if (c.pins == 0) continue;
    for (auto& [id, graph] : s->graphs)
      if (std::binary_search(graph.wanted.begin(), graph.wanted.end(), chunk) &&
          graph.missing++ == 0)
        s->unfinished.push_back(id);
  }
  for (const auto& [s, chunk] : gone_) activate(*s, s->chunks[chunk].task);
  gone_.clear();
}

/// Drops chunks that nobody needs, ends the tasks that would only make such, and forgets those that
/// nobody could ever need.
void Scheduler::settle() {
  while (!loose_.empty()) {
    const auto [s, chunk] = loose_.back();
    loose_.pop_back();
    if (!s->chunks.has(chunk)) continue;
    const ChunkState& c = s->chunks[chunk];
    if (c.task == kNobody || c.needed()) continue;
    while (c.first_copy != kNobody) {
      actions_->emplace_back(DropChunk{WorkerId(copies_[c.first_copy].worker), {s->id, chunk}});
      remove_copy(*s, c.first_copy);
    }
    const std::uint32_t task = c.task;
    if (is_active(s->tasks[task].phase)) conclude(*s, task);
    try_retire(*s, task);
  }
}

/// Ends an active task if all it makes is there or not needed.
void Scheduler::conclude(SessionState& s, std::uint32_t task) {
  TaskState& t = s.tasks[task];
  bool is_all_there = true;
  for (std::uint32_t c = t.first_chunk; c < t.first_chunk + t.chunks; ++c) {
    if (s.chunks[c].copies > 0) continue;
    if (s.chunks[c].needed()) return;
    is_all_there = false;
  }
  if (t.phase == TaskPhase::ready) unready(t);
  cancel_attempts(s, task);
  GraphState& graph = s.graphs.at(t.graph);
  is_all_there ? ++graph.done : --graph.total;
  graph.told = false;
  t.phase = is_all_there ? TaskPhase::done : TaskPhase::idle;
  for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e) {
    const std::uint32_t chunk = s.edges[e].chunk;
    if (--s.chunks[chunk].readers == 0) loose_.emplace_back(&s, chunk);
  }
}

void Scheduler::try_retire(SessionState& s, std::uint32_t task) {
  TaskState& t = s.tasks[task];
  const std::uint32_t graph = t.graph;
  if (t.retired || is_active(t.phase) || s.graphs.at(graph).open) return;
  for (std::uint32_t c = t.first_chunk; c < t.first_chunk + t.chunks; ++c)
    if (s.chunks[c].needed() || s.chunks[c].lineage > 0 || s.chunks[c].first_copy != kNobody)
      return;
  t.retired = true;
  for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e) {
    const EdgeState edge = s.edges[e];
    (edge.previous == kNobody ? s.chunks[edge.chunk].first_reader : s.edges[edge.previous].next) =
        edge.next;
    if (edge.next != kNobody) s.edges[edge.next].previous = edge.previous;
    s.edges.retire(e);
    if (--s.chunks[edge.chunk].lineage == 0) loose_.emplace_back(&s, edge.chunk);
  }
  for (std::uint32_t c = t.first_chunk; c < t.first_chunk + t.chunks; ++c) {
    s.chunks[c].task = kNobody;
    s.chunks.retire(c);
  }
  s.deaths.erase(task);
  s.tasks.retire(task);
  --s.graphs.at(graph).tasks;
  forget_if_empty(s, graph);
}

void Scheduler::forget_if_empty(SessionState& s, std::uint32_t graph) {
  const GraphState& g = s.graphs.at(graph);
  if (!g.open && g.tasks == 0 && g.wanted.empty()) s.graphs.erase(graph);
}

/// A needed task was run; by whom does not matter. This happens once however many ran it.
void Scheduler::complete(SessionState& s, std::uint32_t task, std::uint32_t worker,
                         const std::vector<std::uint64_t>& bytes) {
  TaskState& t = s.tasks[task];
  if (t.phase == TaskPhase::ready) unready(t);
  cancel_attempts(s, task);
  t.phase = TaskPhase::done;
  t.failures = t.misses = 0;  // if it is made again, it is tried as often again
  GraphState& graph = s.graphs.at(t.graph);
  ++graph.done;
  graph.told = false;
  for (std::uint32_t i = 0; i < t.chunks; ++i) {
    const std::uint32_t chunk = t.first_chunk + i;
    ChunkState& c = s.chunks[chunk];
    const std::uint32_t there = find_copy(c, worker);
    if (c.copies == 0 && i < bytes.size()) c.bytes = bytes[i];
    if (c.needed() && c.copies == 0) {
      if (there != kNobody) remove_copy(s, there);  // was on its way from somebody else
      graph.bytes += c.bytes;
      add_copy(s, chunk, worker, c.bytes, false);
    } else if (there == kNobody) {
      take_second(s, chunk, worker);
    }
  }
  if (t.scatter) scatter(s, t, worker);
  for (std::uint32_t e = t.first_edge; e < t.first_edge + t.edges; ++e) {
    const std::uint32_t chunk = s.edges[e].chunk;
    if (--s.chunks[chunk].readers == 0 && !options_.faults.keep_read_chunks)
      loose_.emplace_back(&s, chunk);
  }
}

/// A worker made a chunk that is elsewhere already, or that nobody needs. If a task there reads it,
/// the worker may be about to say that it has fetched it, so it cannot be told to drop it: the
/// order would come after these words, and the chunk be missing where it is believed to be.
void Scheduler::take_second(SessionState& s, std::uint32_t chunk, std::uint32_t worker) {
  const ChunkState& c = s.chunks[chunk];
  const auto is_read_there = [&](std::uint32_t task) {
    for (std::uint32_t a = s.tasks[task].first_attempt; a != kNobody; a = attempts_[a].next_of_task)
      if (attempts_[a].worker == worker) return true;
    return false;
  };
  for (std::uint32_t e = c.first_reader; e != kNobody && c.copies > 0; e = s.edges[e].next)
    if (is_read_there(s.edges[e].task)) return add_copy(s, chunk, worker, c.bytes, false);
  actions_->emplace_back(DropChunk{WorkerId(worker), {s.id, chunk}});
}

/// Sends a mapper's pieces to the workers that shall reduce them, one transfer for each. Reducers
/// get their workers in blocks, when the first mapper is done. What does not fit into a worker's
/// memory stays, to be fetched by the reducer.
void Scheduler::scatter(SessionState& s, const TaskState& task, std::uint32_t worker) {
  std::map<std::uint32_t, std::vector<ChunkId>> transfers;
  for (std::uint32_t i = 0; i < task.chunks && !well_.empty(); ++i) {
    const std::uint32_t chunk = task.first_chunk + i;
    const ChunkState& c = s.chunks[chunk];
    if (c.first_reader == kNobody || find_copy(c, worker) == kNobody) continue;
    TaskState& reader = s.tasks[s.edges[c.first_reader].task];
    if (reader.phase != TaskPhase::waiting) continue;
    if (reader.home == kNobody || workers_[reader.home].health != WorkerHealth::well)
      reader.home = well_[std::size_t{i} * well_.size() / task.chunks];
    const WorkerState& home = workers_[reader.home];
    if (find_copy(c, reader.home) != kNobody || home.used() + c.bytes > home.budget) continue;
    add_copy(s, chunk, reader.home, c.bytes, true);
    transfers[reader.home].push_back({s.id, chunk});
  }
  for (auto& [to, chunks] : transfers)
    actions_->emplace_back(CopyChunks{WorkerId(worker), WorkerId(to), std::move(chunks)});
}

/// The worker says that it has a chunk.
void Scheduler::take_in(WorkerId worker, const HeldChunk& held) {
  const std::uint32_t index = worker.value();
  ChunkState* const c = find(held.chunk);
  if (c == nullptr || !c->needed()) {
    actions_->emplace_back(DropChunk{worker, held.chunk});
    return;
  }
  SessionState& s = *find(held.chunk.session);
  const std::uint32_t copy = find_copy(*c, index);
  const bool was_sent = copy != kNobody;
  if (was_sent) {
    if (!copies_[copy].pending) return;
    remove_copy(s, copy);
  }
  if (c->copies == 0) c->bytes = held.bytes;
  touch_leaving(*c);
  add_copy(s, held.chunk.index, index, held.bytes, false);
  if (was_sent) drop_moved(s, held.chunk.index, index);
}

/// A piece has come to the worker where its only reader will run: elsewhere it would take room, and
/// be written to a disk, for nothing. Not if that worker leaves or may be dead: the reader will run
/// elsewhere, and needs the copy that stays.
void Scheduler::drop_moved(SessionState& s, std::uint32_t chunk, std::uint32_t worker) {
  if (workers_[worker].health != WorkerHealth::well) return;
  const ChunkState& c = s.chunks[chunk];
  if (c.pins > 0 || c.first_reader == kNobody || s.edges[c.first_reader].next != kNobody) return;
  const TaskState& reader = s.tasks[s.edges[c.first_reader].task];
  if (reader.phase != TaskPhase::waiting || reader.home != worker) return;
  for (std::uint32_t copy = c.first_copy; copy != kNobody;) {
    const CopyState other = copies_[copy];
    if (other.worker != worker && !other.pending) {
      actions_->emplace_back(DropChunk{WorkerId(other.worker), {s.id, chunk}});
      remove_copy(s, copy);
    }
    copy = other.next_of_chunk;
  }
}

}  // namespace muster::engine
