#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "muster/comm/message/message.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/service/protocol/ask.h"
#include "muster/service/protocol/chunks.h"
#include "muster/service/worker/counters.h"
#include "muster/service/worker/reporter.h"

namespace muster::service {

/// Gives chunks to whoever asks and takes those that clients upload, in threads of its own, so that
/// neither waits for kernels. Thread-safe.
class ChunkServer {
 public:
  /// Answers a request; what is shared with the store stays pinned until the body is gone.
  using Reply = std::function<void(const comm::Message& request, comm::Body body)>;

  /// All of them outlive it.
  ChunkServer(std::size_t threads, Reply reply, engine::ChunkStore& store, Reporter& reporter,
              WorkerCounters& counters);
  ~ChunkServer();
  ChunkServer(const ChunkServer&) = delete;
  ChunkServer& operator=(const ChunkServer&) = delete;

  /// A message with kGetTag, kPutTag or kTakeTag. Uploads beyond what the memory should hold are
  /// refused with 503.
  void take(comm::Message request);

  /// The bytes of a GotChunks. One chunk alone is shared with the store; several are copied one
  /// after the other. Nothing here waits for room in the store: all threads might do so, for room
  /// that only their own answers take.
  [[nodiscard]] comm::Body get(const GetChunks& asked);
  [[nodiscard]] Answer put(const PutChunk& given);
  /// The client's memory is the chunk only until it stops waiting for the answer: nothing that is
  /// copied later is kept.
  [[nodiscard]] Answer take_from_client(const TakeChunk& given, TimePoint until = TimePoint::max());

  /// Leaves requests unanswered that nobody has begun. Idempotent.
  void stop();

 private:
  struct Waiting {
    comm::Message request;
    TimePoint arrived;
  };

  void serve(const std::stop_token& stop);
  void handle(const comm::Message& request, TimePoint arrived);
  [[nodiscard]] comm::Body answer(const comm::Message& request, TimePoint arrived);
  /// Keeps an uploaded chunk, which `fill` writes.
  using Fill = std::function<Result<void>(std::span<std::byte>)>;
  [[nodiscard]] Answer keep(engine::ChunkId chunk, engine::DType dtype, std::size_t bytes,
                            const Fill& fill);
  /// Empty where the chunk is not here.
  [[nodiscard]] Buffer read(engine::ChunkId chunk);

  const Reply reply_;
  engine::ChunkStore& store_;
  Reporter& reporter_;
  WorkerCounters& counters_;

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any arrived_;
  std::deque<Waiting> requests_;
  std::size_t waiting_bytes_ = 0;

  std::vector<std::jthread> threads_;
};

}  // namespace muster::service
