#include <algorithm>

#include "muster/engine/schedule/scheduler.h"

namespace muster::engine {

/// A task that takes much longer than others of its operator did, or whose worker is silent.
bool Scheduler::is_straggler(const SessionState& s, const AttemptState& attempt) const {
  if (workers_[attempt.worker].health == WorkerHealth::silent) return true;
  if (attempt.started < 0) return false;
  const OperatorState& op = s.operators[s.tasks[attempt.task].operator_name];
  if (op.measured < options_.straggler_samples) return false;
  const Instant mean = op.total / static_cast<Instant>(op.measured);
  return now_ - attempt.started >
         std::max(options_.straggler_least, mean * options_.straggler_factor);
}

void Scheduler::on(const TimePassed&) {
  end_rests();
  for (std::uint32_t worker = 0; worker < workers_.size() && !hungry_.empty(); ++worker) {
    for (std::uint32_t i = workers_[worker].first_attempt; i != kNobody;) {
      const AttemptState attempt = attempts_[i];
      i = attempt.next_of_worker;
      SessionState& s = *find(attempt.session);
      const TaskState& t = s.tasks[attempt.task];
      const bool is_alone = attempts_[t.first_attempt].next_of_task == kNobody;
      if (is_alone && t.repeatable && is_straggler(s, attempt) &&
          run_second(s, attempt.task, worker))
        hungry_.set(attempts_[t.first_attempt].worker, false);  // until dispatch looks at it
    }
  }
  for (auto& [id, s] : sessions_)
    for (auto& [graph, g] : s.graphs) {
      if (g.told) continue;
      g.told = true;
      actions_->emplace_back(GraphProgress{id, GraphId(graph), g.done, g.total, g.bytes});
    }
}

}  // namespace muster::engine
