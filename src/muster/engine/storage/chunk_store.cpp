#include "muster/engine/storage/chunk_store.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

tl::unexpected<Error> absent(ChunkKey key) {
  return fail(StorageErrc::absent, fmt::format("chunk {} is not here", to_string(key)));
}

tl::unexpected<Error> closed() { return fail(StorageErrc::closed, "the store was stopped"); }

}  // namespace

Result<std::shared_ptr<ChunkStore>> ChunkStore::open(const StoreOptions& options) {
  auto arena = Arena::open(options.place, options.budget);
  if (!arena) return fail(arena.error());
  auto pool = SpillPool::open(options.spill);
  if (!pool) return fail(pool.error());
  return std::shared_ptr<ChunkStore>(new ChunkStore(options, std::move(*arena), std::move(*pool)));
}

ChunkStore::ChunkStore(const StoreOptions& options, Arena arena, std::unique_ptr<SpillPool> pool)
    : wait_(options.wait),
      arena_(std::move(arena)),
      pool_(std::move(pool)),
      blocks_(arena_.size()) {}

ChunkStore::~ChunkStore() { stop(); }

void ChunkStore::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
    changed();
  }
  pool_->stop();
}

Deadline ChunkStore::bounded(Deadline deadline) const {
  return deadline ? deadline : Deadline(SteadyClock().now() + wait_);
}

Result<ChunkWriter> ChunkStore::create(ChunkKey key, std::size_t bytes,
                                       const CreateOptions& options) {
  auto entry = std::make_shared<ChunkEntry>();
  entry->key = key;
  entry->bytes = bytes;
  entry->seconds = options.seconds;
  Lock lock(mutex_);
  if (stopped_) return closed();
  if (!table_.emplace(key, entry).second)
    return fail(StorageErrc::exists, fmt::format("chunk {} is here already", to_string(key)));
  const auto offset = claim_room(lock, *entry, bounded(options.deadline));
  if (offset) {
    entry->offset = *offset;
    pin(*entry);
  }
  lock.unlock();

  const auto reserved = offset ? arena_.reserve({*offset, bytes}) : Result<void>();
  if (offset && reserved)
    return ChunkWriter(shared_from_this(), entry, {arena_.data() + *offset, bytes},
                       {*offset, bytes});
  abandon(entry);
  return fail(offset ? reserved.error() : offset.error());
}

std::optional<ChunkWriter> ChunkStore::take_block(std::size_t bytes) {
  auto entry = std::make_shared<ChunkEntry>();
  entry->bytes = bytes;
  entry->dropped = true;  // until it has a key, nobody but its writer knows it
  {
    const Lock lock(mutex_);
    if (stopped_ || bytes > blocks_.capacity() || !queue_.empty()) return {};
    do entry->offset = blocks_.allocate(bytes);
    while (!entry->offset && evict(bytes));
    if (!entry->offset) return {};
    pin(*entry);
  }
  const BlockPlace place{*entry->offset, bytes};
  if (!arena_.reserve(place)) {
    unpin(entry);
    return {};
  }
  return ChunkWriter(shared_from_this(), std::move(entry), {arena_.data() + place.offset, bytes},
                     place);
}

Result<PinnedChunk> ChunkStore::seal_as(const Entry& entry, ChunkKey key, double seconds) {
  const Lock lock(mutex_);
  if (stopped_) return closed();
  if (!table_.emplace(key, entry).second)
    return fail(StorageErrc::exists, fmt::format("chunk {} is here already", to_string(key)));
  entry->key = key;
  entry->seconds = seconds;
  entry->dropped = false;
  entry->stage = Stage::resident;
  policy_.add(key, entry->bytes, seconds, false);
  policy_.pin(key);
  changed();
  return pinned(entry);
}

PinnedChunk ChunkStore::seal(const Entry& entry) {
  const Lock lock(mutex_);
  set_stage(*entry, Stage::resident);
  if (!entry->dropped) {
    policy_.add(entry->key, entry->bytes, entry->seconds, false);
    policy_.pin(entry->key);
  }
  changed();
  return pinned(entry);
}

void ChunkStore::abandon(const Entry& entry) {
  Garbage garbage;
  {
    const Lock lock(mutex_);
    if (!entry->dropped) drop(entry, garbage);
  }
  if (entry->offset) unpin(entry);
  remove(garbage);
}

Result<PinnedChunk> ChunkStore::get(ChunkKey key, Deadline deadline, std::size_t held) {
  const Deadline until = bounded(deadline);
  Lock lock(mutex_);
  for (;;) {
    if (stopped_) return closed();
    const auto found = table_.find(key);
    if (found == table_.end()) return absent(key);
    const Entry entry = found->second;
    switch (entry->stage) {
      case Stage::resident:
      case Stage::spilling:
        policy_.touch(key);
        pin(*entry);
        return pinned(entry);
      case Stage::spilled: return load(lock, entry, until, held);
      case Stage::writing:
      case Stage::loading: break;
    }
    if (auto ok = wait_until_made(lock, *entry, until); !ok) return fail(ok.error());
  }
}

/// Something changed, perhaps this; an error at the deadline.
Result<void> ChunkStore::wait_until_made(Lock& lock, const ChunkEntry& entry, Deadline deadline) {
  if (changed_.wait_until(lock, *deadline) != std::cv_status::timeout ||
      SteadyClock().now() < *deadline)
    return {};
  return fail(
      StorageErrc::timeout,
      fmt::format("chunk {} was still being {} when the deadline passed", to_string(entry.key),
                  entry.stage == Stage::writing ? "written" : "loaded"));
}

Result<Buffer> ChunkStore::read(ChunkKey key, Deadline deadline) {
  const Deadline until = bounded(deadline);
  Lock lock(mutex_);
  for (;;) {
    if (stopped_) return closed();
    const auto found = table_.find(key);
    if (found == table_.end()) return absent(key);
    const Entry entry = found->second;
    if (entry->stage == Stage::resident || entry->stage == Stage::spilling) {
      policy_.touch(key);
      pin(*entry);
      const PinnedChunk chunk = pinned(entry);
      return Buffer::share(chunk.bytes(), chunk.owner());
    }
    if (entry->file) {
      const SpillFile file = *entry->file;
      lock.unlock();
      return read_file(entry, file);
    }
    if (auto ok = wait_until_made(lock, *entry, until); !ok) return fail(ok.error());
  }
}

/// A chunk that is dropped meanwhile loses its file: it is absent then.
Result<Buffer> ChunkStore::read_file(const Entry& entry, const SpillFile& file) {
  std::shared_ptr<std::byte[]> bytes =
      std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(entry->bytes, 1));
  const auto read = pool_->read(file, entry->key, {bytes.get(), entry->bytes});
  Garbage garbage;
  {
    const Lock lock(mutex_);
    if (read) {
      ++counts_.loads;
      counts_.loaded_bytes += entry->bytes;
      const ByteSpan whole(bytes.get(), entry->bytes);
      return Buffer::share(whole, std::move(bytes));
    }
    if (stopped_) return closed();
    if (entry->dropped) return absent(entry->key);
    // Whoever is loading it finds out by himself.
    if (read.error().is(StorageErrc::corrupt) && entry->stage == Stage::spilled) {
      drop(entry, garbage);
      changed();
    }
  }
  remove(garbage);
  return fail(read.error());
}

Result<PinnedChunk> ChunkStore::load(Lock& lock, const Entry& entry, Deadline deadline,
                                     std::size_t held) {
  set_stage(*entry, Stage::loading);
  const auto offset = claim_room(lock, *entry, deadline, held);
  Result<void> read;
  if (offset) {
    entry->offset = *offset;
    pin(*entry);
    lock.unlock();
    read = read_back(*entry, {*offset, entry->bytes});
    lock.lock();
  }
  Garbage garbage;
  if (offset && read) {
    set_stage(*entry, Stage::resident);
    ++counts_.loads;
    counts_.loaded_bytes += entry->bytes;
    if (!entry->dropped) {
      policy_.add(entry->key, entry->bytes, entry->seconds, true);
      policy_.pin(entry->key);
    }
    changed();
    return pinned(entry);
  }

  const Error error = offset ? read.error() : offset.error();
  set_stage(*entry, Stage::spilled);
  if (offset) {
    --entry->pins;
    pinned_bytes_ -= entry->bytes;
    --in_use_;
    free_block(*entry);
  }
  if (entry->dropped) {
    free_if_unused(*entry, garbage);
  } else if (error.is(StorageErrc::corrupt)) {
    drop(entry, garbage);
  }
  changed();
  const bool stopped = stopped_;
  lock.unlock();
  remove(garbage);
  if (stopped) return closed();
  return fail(error);
}

Result<void> ChunkStore::read_back(const ChunkEntry& entry, BlockPlace block) {
  if (auto ok = arena_.reserve(block); !ok) return ok;
  return pool_->read(*entry.file, entry.key, {arena_.data() + block.offset, block.length});
}

PinnedChunk ChunkStore::pinned(const Entry& entry) {
  const BlockPlace place{*entry->offset, entry->bytes};
  std::shared_ptr<const std::byte> data(
      arena_.data() + place.offset,
      [self = shared_from_this(), entry](const std::byte*) { self->unpin(entry); });
  return {std::move(data), place};
}

void ChunkStore::pin(ChunkEntry& entry) {
  if (entry.pins++ > 0) return;
  pinned_bytes_ += entry.bytes;
  ++in_use_;
  if (!entry.dropped) policy_.pin(entry.key);
}

void ChunkStore::unpin(const Entry& entry) {
  Garbage garbage;
  {
    const Lock lock(mutex_);
    MUSTER_ASSERT(entry->pins > 0, "each pin is taken back once");
    if (--entry->pins > 0) return;
    pinned_bytes_ -= entry->bytes;
    --in_use_;
    if (entry->dropped) {
      free_if_unused(*entry, garbage);
    } else {
      policy_.unpin(entry->key);
    }
    changed();
  }
  remove(garbage);
}

ExpectedChunks ChunkStore::expect(std::vector<ChunkKey> keys) {
  const Lock lock(mutex_);
  for (const ChunkKey key : keys) policy_.expect(key);
  return {shared_from_this(), std::move(keys)};
}

void ChunkStore::unexpect(const std::vector<ChunkKey>& keys) {
  const Lock lock(mutex_);
  for (const ChunkKey key : keys) policy_.unexpect(key);
}

Result<void> ChunkStore::retain(ChunkKey key) {
  const Lock lock(mutex_);
  const auto found = table_.find(key);
  if (found == table_.end()) return absent(key);
  ++found->second->references;
  return {};
}

Result<void> ChunkStore::release(ChunkKey key) {
  Garbage garbage;
  {
    const Lock lock(mutex_);
    const auto found = table_.find(key);
    if (found == table_.end()) return absent(key);
    if (--found->second->references > 0) return {};
    drop(Entry(found->second), garbage);
    changed();
  }
  remove(garbage);
  return {};
}

bool ChunkStore::drop(ChunkKey key) {
  Garbage garbage;
  {
    const Lock lock(mutex_);
    const auto found = table_.find(key);
    if (found == table_.end()) return false;
    drop(Entry(found->second), garbage);
    changed();
  }
  remove(garbage);
  return true;
}

std::size_t ChunkStore::drop_session(std::uint64_t session) {
  Garbage garbage;
  std::vector<Entry> gone;
  {
    const Lock lock(mutex_);
    for (const auto& [key, entry] : table_)
      if (key.session == session) gone.push_back(entry);
    for (const auto& entry : gone) drop(entry, garbage);
    changed();
  }
  remove(garbage);
  return gone.size();
}

/// Counts what is only on disk.
void ChunkStore::set_stage(ChunkEntry& entry, Stage stage) {
  const auto on_disk = [](Stage s) { return s == Stage::spilled || s == Stage::loading; };
  if (!entry.dropped && on_disk(stage)) disk_only_ += entry.bytes;
  if (!entry.dropped && on_disk(entry.stage)) disk_only_ -= entry.bytes;
  entry.stage = stage;
}

void ChunkStore::drop(const Entry& entry, Garbage& garbage) {
  table_.erase(entry->key);
  policy_.remove(entry->key);
  if (entry->stage == Stage::spilled || entry->stage == Stage::loading) disk_only_ -= entry->bytes;
  entry->dropped = true;
  free_if_unused(*entry, garbage);
}

void ChunkStore::free_if_unused(ChunkEntry& entry, Garbage& garbage) {
  if (entry.pins > 0 || entry.stage == Stage::spilling || entry.stage == Stage::loading) return;
  if (entry.offset) free_block(entry);
  if (!entry.file) return;
  counts_.disk_bytes -= entry.file->bytes;
  garbage.push_back(std::move(*entry.file));
  entry.file.reset();
}

void ChunkStore::free_block(ChunkEntry& entry) {
  blocks_.free(*entry.offset);
  entry.offset.reset();
}

void ChunkStore::remove(const Garbage& garbage) {
  if (garbage.empty()) return;
  for (const auto& file : garbage) pool_->remove(file);
  const Lock lock(mutex_);
  // There may be room on disk again.
  spill_again_ = {};
  changed();
}

void ChunkStore::changed() {
  stalled_ = false;
  changed_.notify_all();
}

bool ChunkStore::contains(ChunkKey key) const {
  const Lock lock(mutex_);
  const auto found = table_.find(key);
  return found != table_.end() && found->second->stage != Stage::writing;
}

std::optional<std::size_t> ChunkStore::size_of(ChunkKey key) const {
  const Lock lock(mutex_);
  const auto found = table_.find(key);
  if (found == table_.end() || found->second->stage == Stage::writing) return {};
  return found->second->bytes;
}

std::vector<Holding> ChunkStore::holdings() const {
  const Lock lock(mutex_);
  std::vector<Holding> all;
  for (const auto& [key, entry] : table_)
    if (entry->stage != Stage::writing)
      all.push_back(
          {key, entry->bytes, entry->stage == Stage::resident || entry->stage == Stage::spilling});
  return all;
}

StoreStats ChunkStore::stats() const {
  const Lock lock(mutex_);
  StoreStats stats = counts_;
  stats.capacity = blocks_.capacity();
  stats.used = blocks_.used();
  stats.pinned = pinned_bytes_;
  stats.chunks = table_.size();
  for (const auto& [key, entry] : table_)
    stats.chunks_on_disk += entry->stage == Stage::spilled || entry->stage == Stage::loading;
  stats.waiting = queue_.size();
  return stats;
}

ExpectedChunks::~ExpectedChunks() {
  if (store_) store_->unexpect(keys_);
}

ChunkWriter::ChunkWriter(std::shared_ptr<ChunkStore> store, std::shared_ptr<ChunkEntry> entry,
                         std::span<std::byte> bytes, BlockPlace place)
    : store_(std::move(store)), entry_(std::move(entry)), bytes_(bytes), place_(place) {}

ChunkWriter::~ChunkWriter() {
  if (entry_) store_->abandon(entry_);
}

PinnedChunk ChunkWriter::seal() {
  if (!entry_) throw std::logic_error("[seal] the chunk was sealed before");
  bytes_ = {};
  return store_->seal(std::exchange(entry_, nullptr));
}

Result<PinnedChunk> ChunkWriter::seal_as(ChunkKey key, double seconds) {
  if (!entry_) throw std::logic_error("[seal_as] the chunk was sealed before");
  auto sealed = store_->seal_as(entry_, key, seconds);
  if (sealed) entry_.reset();
  return sealed;
}

}  // namespace muster::engine
