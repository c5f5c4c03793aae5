#include "muster/service/worker/outcome_log.h"

#include <algorithm>
#include <utility>

namespace muster::service {

namespace {

using engine::ChunkId;
using engine::TaskFailed;
using engine::TaskFinished;
using engine::TaskId;

TaskId task_of(const Report& report) {
  if (const auto* finished = std::get_if<TaskFinished>(&report.event)) return finished->task;
  if (const auto* failed = std::get_if<TaskFailed>(&report.event)) return failed->task;
  return {};
}

std::vector<ChunkId> chunks_of(const Outcome& outcome) {
  std::vector<ChunkId> chunks;
  const TaskId task = task_of(outcome.report);
  for (std::uint32_t i = 0; i < outcome.outputs; ++i)
    chunks.push_back({task.session, outcome.first_output + i});
  return chunks;
}

}  // namespace

void OutcomeLog::add(Outcome outcome) {
  outcomes_.push_back(std::move(outcome));
  if (outcomes_.size() > kMost) outcomes_.pop_front();
}

std::vector<Report> OutcomeLog::tell_again(const std::function<bool(ChunkId)>& holds) const {
  std::vector<Report> reports;
  for (const Outcome& outcome : outcomes_)
    if (std::ranges::all_of(chunks_of(outcome), holds)) reports.push_back(outcome.report);
  return reports;
}

std::vector<ChunkId> OutcomeLog::made_by(TaskId task) const {
  for (auto outcome = outcomes_.rbegin(); outcome != outcomes_.rend(); ++outcome)
    if (outcome->outputs > 0 && task_of(outcome->report) == task) return chunks_of(*outcome);
  return {};
}

}  // namespace muster::service
