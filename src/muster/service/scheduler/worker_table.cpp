#include "muster/service/scheduler/worker_table.h"

#include <algorithm>
#include <utility>

namespace muster::service {

WorkerEntry& WorkerTable::add(WorkerEntry entry) {
  const std::uint32_t id = entry.id.value();
  next_ = std::max(next_, id + 1);
  by_name_[entry.name] = id;
  WorkerEntry& added = workers_[id];
  added = std::move(entry);
  return added;
}

WorkerEntry* WorkerTable::find(engine::WorkerId id) {
  const auto found = workers_.find(id.value());
  return found == workers_.end() ? nullptr : &found->second;
}

const WorkerEntry* WorkerTable::find(engine::WorkerId id) const {
  const auto found = workers_.find(id.value());
  return found == workers_.end() ? nullptr : &found->second;
}

const WorkerEntry* WorkerTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  const WorkerEntry* const entry = find(engine::WorkerId(found->second));
  return entry == nullptr || entry->is_lost() ? nullptr : entry;
}

WorkerEntry* WorkerTable::find(std::string_view name) {
  const WorkerEntry* const entry = std::as_const(*this).find(name);
  return entry == nullptr ? nullptr : find(entry->id);
}

}  // namespace muster::service
