#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/engine/storage/chunk_key.h"
#include "muster/engine/storage/io_places.h"
#include "muster/engine/storage/spare_files.h"
#include "muster/engine/storage/spill_directory.h"
#include "muster/engine/storage/spill_file.h"

namespace muster::engine {

struct SpillOptions {
  std::vector<std::string> directories{};  ///< `spillDirs`
  /// Transfers at a time in one directory, and threads that write to it.
  unsigned io_parallelism = 1;
  bool lock_free_file_io = false;  ///< `lockFreeFileIO`: any number of transfers at a time
  SpillCompression compression = SpillCompression::none;
};

/// Where a chunk was spilled to.
struct SpillFile {
  std::size_t lane = 0;
  std::string path;
  std::size_t bytes = 0;  ///< its length
};

/// Writes chunks to the spill directories in parallel, threads of its own for each, and reads them
/// back. A file that one directory refuses goes to the others. Thread-safe.
class SpillPool {
 public:
  using Done = std::function<void(Result<SpillFile>)>;

  [[nodiscard]] static Result<std::unique_ptr<SpillPool>> open(const SpillOptions& options);
  explicit SpillPool(const SpillOptions& options, std::vector<SpillDirectory> directories);
  ~SpillPool();
  SpillPool(const SpillPool&) = delete;
  SpillPool& operator=(const SpillPool&) = delete;

  [[nodiscard]] bool has_directories() const { return !lanes_.empty(); }

  /// `bytes` stay valid and unchanged until `done`, which is called once: from a thread of the pool
  /// or, when it was stopped, from the one that stops it or from here. `StorageErrc::disk_full` and
  /// `spill_failed` name what each directory answered.
  void write(ChunkKey key, ByteSpan bytes, Done done);
  [[nodiscard]] Result<void> read(const SpillFile& file, ChunkKey key, std::span<std::byte> into);
  /// Nobody finds it any more; whoever reads it may finish.
  void remove(const SpillFile& file);

  /// Lets the files that are being written finish, fails the others and removes everything.
  void stop();

 private:
  struct Job {
    ChunkKey key;
    ByteSpan bytes;
    Done done;
    std::vector<bool> tried;
    std::string refusals;  ///< what the directories answered
    bool full = false;     ///< one of them had no room
  };
  struct Lane {
    Lane(SpillDirectory own, unsigned at_a_time) : directory(std::move(own)), places(at_a_time) {}
    SpillDirectory directory;
    IoPlaces places;
    std::deque<Job> jobs;             ///< `mutex_` must be held
    std::size_t load = 0;             ///< bytes of jobs, waiting and running; `mutex_` must be held
    std::condition_variable arrived;  ///< with `mutex_`
    SpareFiles spares;                ///< `mutex_` must be held
  };

  void work(std::size_t lane);
  void run(std::size_t lane, Job job);
  /// Gives the job to a directory that has not refused it; false when there is none.
  [[nodiscard]] bool hand_out(Job& job);
  [[nodiscard]] Result<std::size_t> write_file(Lane& lane, const Job& job, const std::string& path);
  [[nodiscard]] std::uint64_t next_serial();

  const SpillCompression compression_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::multiset<std::string> reading_;  ///< paths that are read now; `mutex_` must be held
  std::size_t turn_ = 0;                ///< `mutex_` must be held
  std::uint64_t serial_ = 0;            ///< `mutex_` must be held
  bool stopped_ = false;                ///< `mutex_` must be held
  std::once_flag stop_once_;
  std::vector<std::thread> threads_;
};

}  // namespace muster::engine
