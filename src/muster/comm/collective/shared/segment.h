#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/fork_guard.h"
#include "muster/base/result.h"
#include "muster/comm/collective/shared/layout.h"
#include "muster/comm/driver/driver.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/process_memory.h"

namespace muster::comm::collective::shared {

/// The memory that the ranks of a group share on one host, as one of them sees it: it may write the
/// header and what is its own, and read the rest, so that a rank that was expelled (or is wrong)
/// cannot damage what others have.
///
/// One memory file without a name, gone with its last user:
/// header | control of each rank | staging of each rank, by channel | arena of each rank.
/// Header, control and the staging of the first channel are reserved when it is made, the rest when
/// a rank first needs its part: running out of memory is an error, never SIGBUS.
class Segment : public std::enable_shared_from_this<Segment> {
 public:
  [[nodiscard]] static Result<FileDescriptor> create(int ranks);
  /// Maps a segment that `create` made, for `rank` of `ranks`. When another rank is a thread of
  /// this process, it may lie in the same place (`beside`): what looks for races between threads
  /// knows memory by its address.
  [[nodiscard]] static Result<std::shared_ptr<Segment>> map(
      FileDescriptor fd, int rank, int ranks, std::shared_ptr<const Segment> beside = nullptr);

  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Header& header() const { return *header_; }
  [[nodiscard]] RankControl& control(int rank) const;
  [[nodiscard]] bool is_broken() const {
    return header_->broken.load(std::memory_order_relaxed) != 0;
  }
  [[nodiscard]] bool has_left(int rank) const {
    return (header_->left[rank / 64].load(std::memory_order_acquire) >> (rank % 64) & 1) != 0;
  }
  [[nodiscard]] std::byte* staging(int rank, std::size_t channel) const;
  /// Makes sure that this rank can write to its staging of a channel, and read what others pack.
  Result<void> reserve_staging(std::size_t channel);

  /// The ranks that have not come so far.
  [[nodiscard]] std::vector<int> missing(Stage stage) const;
  /// Whether all ranks have mapped it.
  [[nodiscard]] bool all_are_here() const { return missing(Stage::here).empty(); }
  /// Tries whether this process may read the memory of all others, which are here. Once. It wants
  /// neither to read nor to be read where MUSTER_LEND is set, and not to 1.
  void try_reading();
  [[nodiscard]] bool all_have_tried() const { return missing(Stage::tried).empty(); }
  [[nodiscard]] bool ranks_can_read_each_other() const;
  /// Whether another rank's process is known to have ended.
  [[nodiscard]] bool has_ended(int rank) const;
  /// Reads memory of another rank's process. Fails like `read_memory`.
  [[nodiscard]] Result<void> read(int rank, std::uint64_t address, std::span<std::byte> into) const;

  /// Zeroed memory of this rank that the others can read. Goes back when its owner is gone; a child
  /// process that lets go of it gives nothing back.
  [[nodiscard]] Result<WritableBuffer> allocate(std::size_t bytes);
  /// Where `data` lies in this rank's arena; nothing when it does not lie in it as a whole.
  [[nodiscard]] std::optional<std::uint64_t> arena_offset(const std::byte* data,
                                                          std::size_t bytes) const;
  /// So many bytes of another rank's memory at such an offset. Throws when they are not all in its
  /// arena, or it cannot be mapped.
  [[nodiscard]] const std::byte* arena(int rank, std::uint64_t offset, std::size_t bytes);

 private:
  struct Free {
    std::size_t offset;
    std::size_t bytes;
  };

  Segment(FileDescriptor fd, int rank, int ranks, std::shared_ptr<const Segment> beside)
      : fd_(std::move(fd)), rank_(rank), ranks_(ranks), beside_(std::move(beside)) {}
  Result<void> map_all();
  Result<std::byte*> map_arena(int rank);
  void release(std::size_t offset, std::size_t bytes);

  FileDescriptor fd_;
  int rank_;
  int ranks_;
  std::shared_ptr<const Segment> beside_;  // whose mapping this is; null when it is its own
  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  Header* header_ = nullptr;
  MemoryProof proof_;
  std::uint64_t fork_generation_ = fork_generation();
  std::mutex mutex_;
  std::vector<bool> reserved_ = std::vector<bool>(kChannels);  // guarded by mutex_
  std::vector<Free> free_;                                     // guarded by mutex_, by offset
  std::vector<std::atomic<std::byte*>> arenas_;                // by rank; null until it is used
};

}  // namespace muster::comm::collective::shared
