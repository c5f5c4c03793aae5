// How a chunk store finds room: whom it serves, what it evicts, when it gives up.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

// When room is short, this part of the budget is spilled beyond what is asked for: the disks work
// while the next chunk is computed, and all of them do.
constexpr std::size_t kAhead = 16;

// After all directories refused, so long nothing is tried again unless a file was removed.
constexpr Duration kDiskFullPause = std::chrono::seconds(1);

}  // namespace

Result<std::size_t> ChunkStore::claim_room(Lock& lock, const ChunkEntry& entry, Deadline deadline,
                                           std::size_t held) {
  if (entry.bytes > blocks_.capacity())
    return fail(StorageErrc::too_large,
                fmt::format("chunk {} has {} bytes, but the whole store {}: make chunks smaller or "
                            "raise workerCacheSize",
                            to_string(entry.key), entry.bytes, blocks_.capacity()));
  const std::uint64_t ticket = next_ticket_++;
  queue_.push_back(ticket);
  auto room = wait_for_room(lock, entry, deadline, held, ticket);
  std::erase(queue_, ticket);
  if (!queue_.empty()) changed();
  return room;
}

Result<std::size_t> ChunkStore::wait_for_room(Lock& lock, const ChunkEntry& entry,
                                              Deadline deadline, std::size_t held,
                                              std::uint64_t ticket) {
  for (bool late = false;;) {
    if (stopped_) return fail(StorageErrc::closed, "the store was stopped");
    // In order, so that small chunks do not take the room that a large one is waiting for. When the
    // first waits for somebody to let go, those behind it may hold just that: they go on.
    if (queue_.front() == ticket || stalled_) {
      do {
        if (const auto offset = blocks_.allocate(entry.bytes)) return *offset;
      } while (evict(entry.bytes));
      if (hopeless(held)) return fail(no_room(entry));
      if (spilling_bytes_ == 0 && !stalled_) {
        stalled_ = true;
        changed_.notify_all();
      }
    }
    if (late) return fail(no_room(entry));
    TimePoint until = *deadline;
    const TimePoint now = SteadyClock().now();
    if (spill_again_ > now) until = std::min(until, spill_again_);
    changed_.wait_until(lock, until);
    late = SteadyClock().now() >= *deadline;
  }
}

bool ChunkStore::may_spill() const {
  return pool_->has_directories() && SteadyClock().now() >= spill_again_;
}

/// Starts what makes room for `bytes`; true if some is there already.
bool ChunkStore::evict(std::size_t bytes) {
  const std::size_t free = blocks_.capacity() - blocks_.used();
  // Enough may be free in pieces that are too small: then one more chunk at a time.
  const std::size_t missing = bytes > free ? bytes - free : 1;
  const std::size_t wanted = missing + (bytes > free ? blocks_.capacity() / kAhead : 0);
  if (wanted <= spilling_bytes_) return false;
  bool freed = false;
  const auto victims =
      policy_.make_room(wanted - spilling_bytes_, may_spill() ? MaySpill::yes : MaySpill::no);
  for (const auto& victim : victims) {
    const Entry& entry = table_.at(victim.key);
    if (victim.kind == Eviction::Kind::spill) {
      start_spill(entry);
    } else {
      free_block(*entry);
      set_stage(*entry, Stage::spilled);
      freed = true;
    }
  }
  return freed;
}

void ChunkStore::start_spill(const Entry& entry) {
  set_stage(*entry, Stage::spilling);
  spilling_bytes_ += std::max<std::size_t>(entry->bytes, 1);
  pool_->write(entry->key, {arena_.data() + *entry->offset, entry->bytes},
               [this, entry](Result<SpillFile> written) { spilled(entry, std::move(written)); });
}

/// Called by the pool, without `mutex_`.
void ChunkStore::spilled(const Entry& entry, Result<SpillFile> written) {
  Garbage garbage;
  {
    const Lock lock(mutex_);
    spilling_bytes_ -= std::max<std::size_t>(entry->bytes, 1);
    set_stage(*entry, Stage::resident);
    if (written) {
      ++counts_.spills;
      counts_.spilled_bytes += entry->bytes;
      counts_.disk_bytes += written->bytes;
      entry->file = std::move(*written);
      spill_error_.reset();
    } else {
      ++counts_.failed_spills;
      spill_error_ = written.error();
      spill_again_ = SteadyClock().now() + kDiskFullPause;
      if (!stopped_) log(LogLevel::warning, "storage", "{}", written.error().message());
    }
    if (entry->dropped) {
      free_if_unused(*entry, garbage);
    } else if (entry->pins == 0 && entry->file && !queue_.empty()) {
      free_block(*entry);
      set_stage(*entry, Stage::spilled);
    } else if (entry->pins > 0) {
      policy_.add(entry->key, entry->bytes, entry->seconds, entry->file.has_value());
      policy_.pin(entry->key);
    } else {
      policy_.put_back(entry->key, entry->bytes, entry->seconds, entry->file.has_value());
    }
    changed();
  }
  remove(garbage);
}

/// Nobody is at work whose end could make room, but whoever asks.
bool ChunkStore::hopeless(std::size_t held) const {
  return spilling_bytes_ == 0 && in_use_ <= held;
}

Error ChunkStore::no_room(const ChunkEntry& entry) const {
  const std::string state = fmt::format(
      "no room for chunk {} of {} bytes: of {} bytes {} are used and {} pinned, and "
      "the largest gap has {}",
      to_string(entry.key), entry.bytes, blocks_.capacity(), blocks_.used(), pinned_bytes_,
      blocks_.largest_gap());
  if (spill_error_) return {spill_error_->code(), state + "; " + spill_error_->message()};
  const std::string_view remedy =
      pool_->has_directories()
          ? "run fewer tasks at a time, make chunks smaller, or raise workerCacheSize"
          : "give spillDirs, make chunks smaller, or raise workerCacheSize";
  return {make_error_code(StorageErrc::no_room), fmt::format("{}; {}", state, remedy)};
}

}  // namespace muster::engine
