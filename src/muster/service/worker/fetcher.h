#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "muster/base/result.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/service/worker/chunk_source.h"
#include "muster/service/worker/counters.h"
#include "muster/service/worker/reporter.h"

namespace muster::service {

/// Why a chunk did not come.
struct FetchFailure {
  bool missing = true;  ///< the holder did not give it; else it could not be kept here
  std::string message;
};

/// Brings chunks of other workers into the store, several transfers at a time, and reports them.
/// Chunks that are wanted of one holder go in one transfer, and one that is wanted twice comes
/// once. Thread-safe.
class Fetcher {
 public:
  /// Called once, from a thread of the fetcher; null when the chunk is here.
  using Done = std::function<void(engine::ChunkId chunk, const FetchFailure* failure)>;

  /// All of them outlive it.
  Fetcher(std::size_t threads, ChunkSource& source, engine::ChunkStore& store, Reporter& reporter,
          WorkerCounters& counters);
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  /// True if the chunk is here: then `done` is not called.
  [[nodiscard]] bool want(engine::ChunkId chunk, const std::string& holder, Done done);
  /// For nobody in particular: what cannot be had is reported as lost.
  void copy(const std::string& holder, const std::vector<engine::ChunkId>& chunks);
  /// Chunks on their way that are no longer wanted do not stay.
  void drop(engine::ChunkId chunk);
  void drop_session(engine::SessionId session);

  [[nodiscard]] std::size_t on_their_way() const;
  /// Forgets what waits. Transfers that are under way end by themselves, so the source is stopped
  /// before. Idempotent.
  void stop();

 private:
  struct Wanted {
    std::vector<Done> done;
    bool dropped = false;
    bool copied = false;  ///< by order: its loss is reported
  };
  struct Batch {
    std::string holder;
    std::vector<engine::ChunkId> chunks;
  };

  void serve(const std::stop_token& stop);
  [[nodiscard]] Batch next(const std::stop_token& stop);
  void transfer(const Batch& batch);
  [[nodiscard]] std::size_t batch_size() const;
  void add(engine::ChunkId chunk, const std::string& holder, Wanted& wanted);
  [[nodiscard]] Result<void> keep(engine::ChunkId chunk, Buffer bytes);
  [[nodiscard]] Result<void> write(engine::ChunkId chunk, const Buffer& bytes, Deadline deadline);
  void arrived(engine::ChunkId chunk, std::uint64_t bytes);
  void failed(engine::ChunkId chunk, const FetchFailure& failure);
  void fail_all(const Batch& batch, const std::string& message);

  ChunkSource& source_;
  engine::ChunkStore& store_;
  Reporter& reporter_;
  WorkerCounters& counters_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any changed_;
  std::map<engine::ChunkId, Wanted> wanted_;
  std::map<std::string, std::deque<engine::ChunkId>> queues_;  ///< by holder; none is empty
  std::deque<std::string> turns_;                              ///< the holders in `queues_`
  double mean_bytes_ = 2 << 20;                                ///< of a chunk, lately
  bool stopped_ = false;

  std::vector<std::jthread> threads_;
};

}  // namespace muster::service
