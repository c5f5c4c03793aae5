#include "muster/comm/discovery/memory/memory_board.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "muster/comm/errc.h"

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
    return fail(Errc::refused, fmt::format("another instance has taken the name '{}' in group '{}'",
                                           entry.name.view(), group_name));
  }
  if (ours) rank = old->second.rank;
  if (rank == 0) rank = ++last_rank_;
  if (!ours || old->second.entry != entry) touch(group);
  group.registrations[entry.name] = {entry, rank, clock_.now() + lease};
  return rank;
}

void MemoryBoard::remove(const std::string& group_name, const Name& name, InstanceId instance) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[group_name];
  const auto found = group.registrations.find(name);
  if (found == group.registrations.end() || found->second.entry.instance != instance) return;
  group.registrations.erase(found);
  touch(group);
}

MemoryBoard::Listing MemoryBoard::list(const std::string& group_name) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[group_name];
  drop_expired(group);
  Listing listing;
  listing.version = group.version;
  listing.entries.reserve(group.registrations.size());
  for (const auto& [name, registration] : group.registrations)
    listing.entries.push_back(registration.entry);
  return listing;
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
