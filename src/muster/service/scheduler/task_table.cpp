#include "muster/service/scheduler/task_table.h"

namespace muster::service {

void TaskTable::add(const StageSubmitted& stage) {
  for (std::size_t i = 0; i < stage.body_of.size(); ++i)
    entries_.add({stage.bodies[stage.body_of[i]], stage.first_output[i], stage.step[i] & ~kLearns,
                  (stage.step[i] & kLearns) != 0, false});
}

const TaskTable::Entry* TaskTable::find(std::uint32_t task) const {
  if (!entries_.has(task) || entries_[task].forgotten) return nullptr;
  return &entries_[task];
}

const std::vector<engine::Shape>* TaskTable::shapes(std::uint32_t task) const {
  const auto found = shapes_.find(task);
  return found == shapes_.end() ? nullptr : &found->second;
}

void TaskTable::save(engine::SessionId session, std::vector<ServiceRecord>& into) const {
  TasksSaved saved;
  saved.session = session;
  for (std::uint32_t task = 0; task < entries_.size(); ++task) {
    const Entry* const entry = find(task);
    saved.first_output.push_back(entry == nullptr ? 0 : entry->first_output);
    saved.step.push_back(entry == nullptr ? 0 : entry->step | (entry->learns ? kLearns : 0));
    if (entry == nullptr) {
      saved.body_of.push_back(TasksSaved::kForgotten);
      continue;
    }
    if (saved.bodies.empty() || !(saved.bodies.back() == entry->body))
      saved.bodies.push_back(entry->body);
    saved.body_of.push_back(static_cast<std::uint32_t>(saved.bodies.size() - 1));
  }
  into.emplace_back(std::move(saved));
  for (const auto& [task, shapes] : shapes_)
    into.emplace_back(ShapesLearned{{session, task}, shapes});
}

void TaskTable::load(const TasksSaved& saved) {
  for (std::size_t i = 0; i < saved.body_of.size(); ++i) {
    const bool forgotten = saved.body_of[i] == TasksSaved::kForgotten;
    const std::uint32_t task = entries_.add(
        {forgotten ? Buffer() : saved.bodies.at(saved.body_of[i]), saved.first_output.at(i),
         saved.step.at(i) & ~kLearns, (saved.step.at(i) & kLearns) != 0, forgotten});
    if (forgotten) entries_.retire(task);
  }
}

void TaskTable::sweep(engine::SessionId session, const engine::Scheduler& scheduler) {
  for (std::uint32_t task = 0; task < entries_.size(); ++task) {
    if (!entries_.has(task) || entries_[task].forgotten || scheduler.knows({session, task}))
      continue;
    entries_[task].body = {};
    entries_[task].forgotten = true;
    shapes_.erase(task);
    entries_.retire(task);
  }
}

}  // namespace muster::service
