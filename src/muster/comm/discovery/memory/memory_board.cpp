#include "muster/comm/discovery/memory/memory_board.h"

#include <algorithm>
#include <chrono>

namespace muster::comm {

Result<MemoryBoard::Rank> MemoryBoard::put(const std::string& group_name, const Entry& entry,
                                           Duration lease, Rank rank) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[group_name];
  drop_expired(group);
  const auto old = group.registrations.find(entry.name);
  const bool present = old != group.registrations.end();
  const bool ours = present && old->second.entry.instance == entry.instance;
  if (present && !ours && rank != 0 && rank < old->second.rank) {
    return fail(name_taken(entry, group_name, old->second.entry));
  }
  if (ours) rank = old->second.rank;
  if (rank == 0) rank = ++last_rank_;
  last_rank_ = std::max(last_rank_, rank);  // one from before the board lost everything
  if (!ours || old->second.entry != entry) touch(group);
  group.registrations[entry.name] = {entry, rank, clock_.now() + lease};
  return rank;
}

void MemoryBoard::remove(const std::string& group_name, const Name& name, InstanceId instance) {
  const std::lock_guard lock(mutex_);
  const auto known = groups_.find(group_name);
  if (known == groups_.end()) return;
  Group& group = known->second;
  const auto found = group.registrations.find(name);
  if (found == group.registrations.end() || found->second.entry.instance != instance) return;
  group.registrations.erase(found);
  touch(group);
}

MemoryBoard::Listing MemoryBoard::list(const std::string& group_name) {
  const std::lock_guard lock(mutex_);
  // One that nobody ever joined is not remembered: who asks could make up any number of them.
  const auto known = groups_.find(group_name);
  if (known == groups_.end()) return {};
  Group& group = known->second;
  drop_expired(group);
  Listing listing;
  listing.version = group.version;
  listing.entries.reserve(group.registrations.size());
  for (const auto& [name, registration] : group.registrations)
    listing.entries.push_back(registration.entry);
  return listing;
}

MemoryBoard::Glance MemoryBoard::glance(const std::string& group_name) {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(group_name);
  if (found == groups_.end()) return {};
  drop_expired(found->second);
  Glance glance{.version = found->second.version};
  for (const auto& [name, registration] : found->second.registrations)
    glance.next_end = std::min(glance.next_end, registration.until);
  return glance;
}

MemoryBoard::Size MemoryBoard::size_with(const std::string& group_name, const Name& name) {
  const std::lock_guard lock(mutex_);
  Size size{.groups = groups_.size(), .entries = 0};
  for (auto& [each, group] : groups_) {
    drop_expired(group);
    size.entries += group.registrations.size();
  }
  const auto known = groups_.find(group_name);
  size.groups += known == groups_.end() ? 1 : 0;
  size.entries += known == groups_.end() || !known->second.registrations.contains(name) ? 1 : 0;
  return size;
}

void MemoryBoard::wait(const std::string& group_name, std::optional<std::uint64_t> seen,
                       TimePoint deadline, bool& interrupted) {
  std::unique_lock lock(mutex_);
  Group& group = groups_[group_name];
  while (!std::exchange(interrupted, false)) {
    drop_expired(group);
    if (seen != group.version || clock_.now() >= deadline) return;
    // A simulated clock is not the one that the condition variable knows: sleep for as long as it
    // says, then ask it again.
    changed_.wait_for(lock, next_look(group, deadline) - clock_.now());
  }
}

void MemoryBoard::interrupt(bool& interrupted) {
  const std::lock_guard lock(mutex_);
  interrupted = true;
  changed_.notify_all();
}

void MemoryBoard::time_moved() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void MemoryBoard::touch(Group& group) {
  ++group.version;
  changed_.notify_all();
}

void MemoryBoard::drop_expired(Group& group) {
  const TimePoint now = clock_.now();
  const auto dropped = std::erase_if(group.registrations,
                                     [&](const auto& item) { return item.second.until <= now; });
  if (dropped > 0) touch(group);
}

TimePoint MemoryBoard::next_look(const Group& group, TimePoint deadline) const {
  for (const auto& [name, registration] : group.registrations)
    deadline = std::min(deadline, registration.until);
  // Far deadlines overflow inside wait_for.
  return std::min(deadline, clock_.now() + std::chrono::hours(1));
}

}  // namespace muster::comm
