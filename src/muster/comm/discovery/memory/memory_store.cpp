#include "muster/comm/discovery/memory/memory_store.h"

#include <optional>
#include <utility>

namespace muster::comm {

Result<void> MemoryStore::put(const std::string& group, const Entry& entry, Duration lease) {
  const std::lock_guard lock(mutex_);
  const Key key{group, entry.name, entry.instance};
  const auto known = ranks_.find(key);
  const auto rank = board_->put(group, entry, lease, known == ranks_.end() ? 0 : known->second);
  if (!rank) return fail(rank.error());
  ranks_[key] = *rank;
  return {};
}

Result<void> MemoryStore::remove(const std::string& group, const Name& name, InstanceId instance) {
  const std::lock_guard lock(mutex_);
  board_->remove(group, name, instance);
  ranks_.erase({group, name, instance});
  return {};
}

Result<std::vector<Entry>> MemoryStore::list(const std::string& group) {
  const std::lock_guard lock(mutex_);
  auto listing = board_->list(group);
  seen_[group] = listing.version;
  return std::move(listing.entries);
}

Result<void> MemoryStore::wait_for_change(const std::string& group, TimePoint deadline) {
  std::optional<std::uint64_t> seen;
  {
    const std::lock_guard lock(mutex_);
    const auto found = seen_.find(group);
    if (found != seen_.end()) seen = found->second;
  }
  board_->wait(group, seen, deadline, interrupted_);
  return {};
}

}  // namespace muster::comm
