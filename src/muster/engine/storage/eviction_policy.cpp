#include "muster/engine/storage/eviction_policy.h"

#include <algorithm>

#include "muster/base/assert.h"

namespace muster::engine {
namespace {

// Writing a byte and reading it back later is the unit of cost, at about this bandwidth each way.
constexpr double kSpillSecondsPerByte = 2.0 / 500e6;
// A chunk with a copy on disk needs no writing.
constexpr double kOnDisk = 0.5;
// However long a chunk took to make, it leaves when it is not used for long: the clock reaches it.
constexpr double kDearest = 64;

double cost_per_byte(std::size_t bytes, double seconds, bool on_disk) {
  const double size = static_cast<double>(std::max<std::size_t>(bytes, 1));
  const double making = std::max(seconds, 0.0) / size / kSpillSecondsPerByte;
  return std::min(making, kDearest) + (on_disk ? kOnDisk : 1.0);
}

}  // namespace

void EvictionPolicy::add(ChunkKey key, std::size_t bytes, double seconds, bool on_disk) {
  const double cost = cost_per_byte(bytes, seconds, on_disk);
  insert(key, {.bytes = bytes,
               .cost = cost,
               .on_disk = on_disk,
               .priority = clock_ + cost,
               .used = ++uses_});
}

void EvictionPolicy::put_back(ChunkKey key, std::size_t bytes, double seconds, bool on_disk) {
  insert(key, {.bytes = bytes,
               .cost = cost_per_byte(bytes, seconds, on_disk),
               .on_disk = on_disk,
               .priority = clock_,
               .used = 0});
}

void EvictionPolicy::insert(ChunkKey key, Chunk chunk) {
  chunk.expected = expected_.contains(key);
  const bool added = chunks_.emplace(key, chunk).second;
  MUSTER_ASSERT(added, "a chunk is added once");
  unpinned_.insert(rank(key, chunk));
}

void EvictionPolicy::remove(ChunkKey key) {
  const auto found = chunks_.find(key);
  if (found == chunks_.end()) return;
  unpinned_.erase(rank(key, found->second));
  chunks_.erase(found);
}

void EvictionPolicy::touch(ChunkKey key) {
  const auto found = chunks_.find(key);
  if (found == chunks_.end()) return;
  Chunk& chunk = found->second;
  unpinned_.erase(rank(key, chunk));
  chunk.priority = clock_ + chunk.cost;
  chunk.used = ++uses_;
  if (!chunk.pinned) unpinned_.insert(rank(key, chunk));
}

void EvictionPolicy::pin(ChunkKey key) {
  const auto found = chunks_.find(key);
  if (found == chunks_.end()) return;
  found->second.pinned = true;
  unpinned_.erase(rank(key, found->second));
}

void EvictionPolicy::unpin(ChunkKey key) {
  const auto found = chunks_.find(key);
  if (found == chunks_.end()) return;
  found->second.pinned = false;
  unpinned_.insert(rank(key, found->second));
}

void EvictionPolicy::expect(ChunkKey key) {
  if (expected_[key]++ == 0) set_expected(key, true);
}

void EvictionPolicy::unexpect(ChunkKey key) {
  const auto found = expected_.find(key);
  MUSTER_ASSERT(found != expected_.end(), "what is expected no more was expected");
  if (--found->second > 0) return;
  expected_.erase(found);
  set_expected(key, false);
}

void EvictionPolicy::set_expected(ChunkKey key, bool expected) {
  const auto found = chunks_.find(key);
  if (found == chunks_.end()) return;
  Chunk& chunk = found->second;
  unpinned_.erase(rank(key, chunk));
  chunk.expected = expected;
  if (!chunk.pinned) unpinned_.insert(rank(key, chunk));
}

std::vector<Eviction> EvictionPolicy::make_room(std::size_t bytes, MaySpill may_spill) {
  std::vector<Eviction> victims;
  std::size_t found = 0;
  for (auto next = unpinned_.begin(); next != unpinned_.end() && found < bytes;) {
    const auto [expected, priority, used, key] = *next;
    const auto chunk = chunks_.find(key);
    if (!chunk->second.on_disk && may_spill == MaySpill::no) {
      ++next;
      continue;
    }
    victims.push_back({chunk->second.on_disk ? Eviction::Kind::forget : Eviction::Kind::spill, key,
                       chunk->second.bytes});
    // A chunk that takes no bytes takes room all the same.
    found += std::max<std::size_t>(chunk->second.bytes, 1);
    clock_ = std::max(clock_, priority);
    chunks_.erase(chunk);
    next = unpinned_.erase(next);
  }
  return victims;
}

}  // namespace muster::engine
