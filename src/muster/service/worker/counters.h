#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace muster::service {

/// Bytes that come and go, and somebody who wants to know when they become fewer. Thread-safe.
class ByteGauge {
 public:
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  void subtract(std::uint64_t bytes) {
    bytes_ -= bytes;
    const std::scoped_lock lock(mutex_);
    if (fewer_) fewer_();
  }
  [[nodiscard]] std::uint64_t load() const { return bytes_; }

  /// `fewer` is called from now on; it does not call the gauge. Without one nobody is told, and a
  /// call that is under way has ended.
  void tell(std::function<void()> fewer) {
    const std::scoped_lock lock(mutex_);
    fewer_ = std::move(fewer);
  }

 private:
  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex mutex_;  ///< guards what follows
  std::function<void()> fewer_;
};

/// What a worker did since it started. Thread-safe.
struct WorkerCounters {
  std::atomic<std::uint64_t> tasks_finished = 0;
  std::atomic<std::uint64_t> tasks_failed = 0;
  std::atomic<std::uint64_t> tasks_cancelled = 0;
  std::atomic<std::uint64_t> task_nanoseconds = 0;
  std::atomic<std::uint64_t> output_bytes = 0;
  std::atomic<std::uint64_t> outputs_copied = 0;  ///< not made where they stay
  std::atomic<std::uint64_t> chunks_fetched = 0;
  std::atomic<std::uint64_t> bytes_fetched = 0;
  std::atomic<std::uint64_t> fetches_failed = 0;  ///< chunks
  std::atomic<std::uint64_t> chunks_served = 0;
  std::atomic<std::uint64_t> bytes_served = 0;
  std::atomic<std::uint64_t> chunks_uploaded = 0;
  std::atomic<std::uint64_t> bytes_uploaded = 0;
  std::atomic<std::uint64_t> registrations = 0;
  /// Now: copies of chunks beside the store, that wait for room there or found none. They are the
  /// worker's memory as well, so fewer tasks begin meanwhile.
  ByteGauge heap_bytes;
};

/// Bytes on the heap that are counted while it lives.
class HeapBytes {
 public:
  HeapBytes(WorkerCounters& counters, std::size_t bytes)
      : counted_(&counters.heap_bytes), bytes_(bytes) {
    counted_->add(bytes_);
  }
  HeapBytes(const HeapBytes&) = delete;
  HeapBytes& operator=(const HeapBytes&) = delete;
  ~HeapBytes() { counted_->subtract(bytes_); }

 private:
  ByteGauge* counted_;  ///< the worker's, which outlives all chunks
  std::uint64_t bytes_;
};

}  // namespace muster::service
