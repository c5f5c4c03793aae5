#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {
namespace {

class Digest {
 public:
  template <class... Numbers>
  void add(Numbers... numbers) {
    (mix(static_cast<std::uint64_t>(numbers)), ...);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void mix(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x9E3779B97F4A7C15ull;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value_ = 1;
};

void add(Digest& digest, const SessionState& s) {
  digest.add(s.id.value(), s.next_priority, s.attempts, s.tasks.size(), s.chunks.size());
  for (std::uint32_t i = 0; i < s.tasks.size(); ++i) {
    if (!s.tasks.has(i) || s.tasks[i].retired) continue;
    const TaskState& t = s.tasks[i];
    digest.add(i, t.graph, t.phase, t.priority, t.phase == TaskPhase::waiting ? t.missing : 0,
               t.queue, t.home, t.avoid, t.failures, t.misses, t.resting);
  }
  for (std::uint32_t i = 0; i < s.chunks.size(); ++i) {
    if (!s.chunks.has(i) || s.chunks[i].task == kNobody) continue;
    const ChunkState& c = s.chunks[i];
    digest.add(i, c.copies, c.readers, c.pins, c.lineage, c.bytes);
  }
  for (const auto& [id, g] : s.graphs) {
    digest.add(id, g.missing, g.tasks, g.done, g.total, g.bytes, g.open, g.ended);
    for (const std::uint32_t chunk : g.wanted) digest.add(chunk);
  }
  for (const OperatorState& op : s.operators) digest.add(op.measured, op.total);
  for (const auto& [task, workers] : s.deaths) digest.add(task, workers.size());
}

}  // namespace

std::uint64_t Scheduler::digest() const {
  Digest digest;
  for (const auto& [id, s] : sessions_) add(digest, s);
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const WorkerState& w = workers_[i];
    if (w.health == WorkerHealth::gone) continue;
    digest.add(i, w.health, w.threads, w.budget, w.held, w.spilled, w.promised, ready_[i]);
    for (std::uint32_t a = w.first_attempt; a != kNobody; a = attempts_[a].next_of_worker)
      digest.add(attempts_[a].number, attempts_[a].task, attempts_[a].started,
                 attempts_[a].promised);
    for (std::uint32_t c = w.first_copy; c != kNobody; c = copies_[c].next_of_worker)
      digest.add(copies_[c].session.value(), copies_[c].chunk, copies_[c].bytes,
                 copies_[c].pending);
  }
  for (const std::uint32_t worker : well_) digest.add(worker);
  for (const RestState& rest : rests_) digest.add(rest.until, rest.session.value(), rest.task);
  digest.add(total_ready_, overfull_.size(), next_attempt_, next_worker_, mean_);
  return digest.value();
}

}  // namespace muster::engine
