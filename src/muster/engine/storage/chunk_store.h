#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/engine/storage/arena.h"
#include "muster/engine/storage/block_allocator.h"
#include "muster/engine/storage/chunk_entry.h"
#include "muster/engine/storage/chunk_handles.h"
#include "muster/engine/storage/chunk_key.h"
#include "muster/engine/storage/eviction_policy.h"
#include "muster/engine/storage/spill_pool.h"

namespace muster::engine {

struct StoreOptions {
  std::string place{};     ///< `plasmaStore`: a folder for the arena; empty for anonymous memory
  std::size_t budget = 0;  ///< bytes of the arena; see `cache_budget`
  SpillOptions spill{};    ///< without directories nothing is spilled
  /// How long `create` and `get` wait when they are given no deadline.
  Duration wait = std::chrono::seconds(60);
};

struct CreateOptions {
  double seconds = 0;   ///< what it took, or will take, to compute the chunk; 0 if not known
  Deadline deadline{};  ///< for the room; the store's `wait` from now if there is none
};

struct StoreStats {
  std::size_t capacity = 0;
  std::size_t used = 0;            ///< bytes of blocks in memory
  std::size_t pinned = 0;          ///< of these, bytes that cannot leave now
  std::size_t chunks = 0;          ///< all, wherever they are
  std::size_t chunks_on_disk = 0;  ///< those that are only there
  std::size_t disk_bytes = 0;      ///< length of all spill files
  std::size_t waiting = 0;         ///< threads that wait for room
  std::uint64_t spills = 0;        ///< since the start, as all below
  std::uint64_t spilled_bytes = 0;
  std::uint64_t loads = 0;
  std::uint64_t loaded_bytes = 0;
  std::uint64_t failed_spills = 0;
};

struct Holding {
  ChunkKey key;
  std::size_t bytes = 0;
  bool in_memory = false;
};

/// The chunks of one worker: in an arena of shared memory that never grows beyond its budget, and
/// on disk when that is full. What is got stays where it is until it is released, and is not
/// copied; other processes read it by `reader_file` and `PinnedChunk::place`.
///
/// Thread-safe. Every wait ends at a deadline, so threads that hold chunks pinned while they wait
/// for room get an error rather than block each other for ever. Handles keep the store alive.
class ChunkStore : public std::enable_shared_from_this<ChunkStore> {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ChunkStore>> open(const StoreOptions& options);
  ~ChunkStore();
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  /// A block to write the chunk into; others are evicted to make room. The sealed chunk has one
  /// reference.
  [[nodiscard]] Result<ChunkWriter> create(ChunkKey key, std::size_t bytes,
                                           const CreateOptions& options = {});

  /// A block without a key, for something that may become a chunk (`ChunkWriter::seal_as`). Never
  /// waits: nothing where there is no room now; then some is being made.
  [[nodiscard]] std::optional<ChunkWriter> take_block(std::size_t bytes);

  /// Pins the chunk, and brings it back into memory first if it was spilled; waits for one that is
  /// being written. `StorageErrc::corrupt` means that the chunk is lost and must be recomputed: it
  /// is no longer here. `held`: chunks that the caller has pinned; it does not wait for itself.
  [[nodiscard]] Result<PinnedChunk> get(ChunkKey key, Deadline deadline = {}, std::size_t held = 0);

  /// The bytes of a chunk for somebody who takes them elsewhere. In memory they are pinned while
  /// the result lives; from disk they come into memory outside of the arena. Never waits for room,
  /// so those who serve others cannot block each other.
  [[nodiscard]] Result<Buffer> read(ChunkKey key, Deadline deadline = {});

  /// The chunks, here or not, leave memory after all others while the result lives.
  [[nodiscard]] ExpectedChunks expect(std::vector<ChunkKey> keys);

  /// Counts one more that wants the chunk to be kept.
  [[nodiscard]] Result<void> retain(ChunkKey key);
  /// One less; the last one drops it.
  [[nodiscard]] Result<void> release(ChunkKey key);
  /// Forgets the chunk, whoever wanted it; what is pinned stays valid. False if it is not here.
  bool drop(ChunkKey key);
  /// Drops all chunks of a session; how many they were.
  std::size_t drop_session(std::uint64_t session);

  [[nodiscard]] bool contains(ChunkKey key) const;
  /// The length of a sealed chunk, wherever it is; nothing if it is not here.
  [[nodiscard]] std::optional<std::size_t> size_of(ChunkKey key) const;
  /// Bytes of chunks that are only on disk.
  [[nodiscard]] std::size_t bytes_on_disk() const noexcept { return disk_only_; }
  /// The sealed chunks.
  [[nodiscard]] std::vector<Holding> holdings() const;
  [[nodiscard]] StoreStats stats() const;
  /// Where chunks lie in this process: the place of a chunk for others counts from here.
  [[nodiscard]] ByteSpan memory() const { return {arena_.data(), arena_.size()}; }
  /// What other processes map with `ArenaReader`.
  [[nodiscard]] Result<FileDescriptor> reader_file() const { return arena_.reader_file(); }

  /// Ends all waits with `StorageErrc::closed` and removes the spill files. What is pinned stays
  /// valid. Called by the destructor.
  void stop();

 private:
  friend class ChunkWriter;
  friend class ExpectedChunks;
  using Entry = std::shared_ptr<ChunkEntry>;
  using Lock = std::unique_lock<std::mutex>;
  using Stage = ChunkEntry::Stage;
  /// Files to remove when the lock is not held any more.
  using Garbage = std::vector<SpillFile>;

  ChunkStore(const StoreOptions& options, Arena arena, std::unique_ptr<SpillPool> pool);

  // In chunk_store.cpp.
  PinnedChunk seal(const Entry& entry);
  [[nodiscard]] Result<PinnedChunk> seal_as(const Entry& entry, ChunkKey key, double seconds);
  void abandon(const Entry& entry);
  void unexpect(const std::vector<ChunkKey>& keys);
  [[nodiscard]] Deadline bounded(Deadline deadline) const;
  [[nodiscard]] Result<PinnedChunk> load(Lock& lock, const Entry& entry, Deadline deadline,
                                         std::size_t held);
  [[nodiscard]] Result<void> wait_until_made(Lock& lock, const ChunkEntry& entry,
                                             Deadline deadline);
  [[nodiscard]] Result<Buffer> read_file(const Entry& entry, const SpillFile& file);
  [[nodiscard]] Result<void> read_back(const ChunkEntry& entry, BlockPlace block);
  [[nodiscard]] PinnedChunk pinned(const Entry& entry);
  void pin(ChunkEntry& entry);
  void unpin(const Entry& entry);
  void drop(const Entry& entry, Garbage& garbage);
  void set_stage(ChunkEntry& entry, Stage stage);
  void free_if_unused(ChunkEntry& entry, Garbage& garbage);
  void free_block(ChunkEntry& entry);
  void remove(const Garbage& garbage);
  void changed();

  // In chunk_room.cpp; `mutex_` must be held.
  [[nodiscard]] Result<std::size_t> claim_room(Lock& lock, const ChunkEntry& entry,
                                               Deadline deadline, std::size_t held = 0);
  [[nodiscard]] Result<std::size_t> wait_for_room(Lock& lock, const ChunkEntry& entry,
                                                  Deadline deadline, std::size_t held,
                                                  std::uint64_t ticket);
  [[nodiscard]] bool may_spill() const;
  bool evict(std::size_t bytes);
  void start_spill(const Entry& entry);
  void spilled(const Entry& entry, Result<SpillFile> written);
  [[nodiscard]] bool hopeless(std::size_t held) const;
  [[nodiscard]] Error no_room(const ChunkEntry& entry) const;

  const Duration wait_;
  Arena arena_;
  std::unique_ptr<SpillPool> pool_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  BlockAllocator blocks_;
  EvictionPolicy policy_;  ///< the resident chunks that are in the table
  std::unordered_map<ChunkKey, Entry> table_;
  std::deque<std::uint64_t>
      queue_;  ///< tickets of those that wait for room, the first being served
  std::uint64_t next_ticket_ = 0;
  bool stalled_ = false;            ///< the first cannot be served by evicting: others may try
  std::size_t spilling_bytes_ = 0;  ///< on their way to disk
  std::size_t pinned_bytes_ = 0;
  std::size_t in_use_ = 0;   ///< blocks that are pinned, written or loaded
  TimePoint spill_again_{};  ///< no spilling before: the disks were full
  std::optional<Error> spill_error_;
  bool stopped_ = false;
  StoreStats counts_;
  std::atomic<std::size_t> disk_only_ =
      0;  ///< bytes of chunks that are spilled; written under `mutex_`
};

}  // namespace muster::engine
