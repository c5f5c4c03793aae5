#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "muster/base/buffer.h"

namespace muster {

/// What writer and reader of a ring share. Lies in zeroed shared memory. Each side writes its own
/// cache lines, so that they take lines from each other only when there is news.
struct RingIndices {
  alignas(64) std::atomic<std::uint64_t> written;  ///< bytes published since the beginning
  alignas(64) std::atomic<std::uint64_t> read;     ///< bytes that the writer may use again
  /// Bytes taken. Kept for every message, where the writer does not look while both live.
  alignas(64) std::atomic<std::uint64_t> taken;
  alignas(64) std::atomic<std::uint32_t> writer_waits;
  std::atomic<std::uint32_t>
      progress;  ///< counts the times that a waiting writer was told to go on
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The writing end of a ring of bytes between two processes. `data` is mapped twice in a row
/// (`Mapping::map_ring`), so every reservation is one piece. The reader is not trusted: indices
/// from shared memory are read once and checked. Not thread-safe.
class RingWriter {
 public:
  /// `indices` and `data` stay mapped as long as this lives; `capacity` is a power of two.
  RingWriter(RingIndices& indices, std::byte* data, std::size_t capacity)
      : indices_(&indices), data_(data), capacity_(capacity) {}

  /// Room for `bytes`, or null when the ring is too full (or broken).
  [[nodiscard]] std::byte* reserve(std::size_t bytes) {
    if (capacity_ - (written_ - read_) < bytes && !refresh(bytes)) return nullptr;
    return data_ + (written_ & (capacity_ - 1));
  }
  /// Publishes what was written at the last reservation.
  void commit(std::size_t bytes) {
    written_ += bytes;
    indices_->written.store(written_, std::memory_order_release);
  }

  /// Asks to be told when there is room again. Look once more afterwards: the reader may just have
  /// made some.
  void await_room() { indices_->writer_waits.store(1, std::memory_order_seq_cst); }
  [[nodiscard]] std::uint32_t progress() const {
    return indices_->progress.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::uint64_t written() const { return written_; }
  /// How much the reader has released, as far as it is believable.
  [[nodiscard]] std::uint64_t released() {
    refresh(0);
    return read_;
  }
  /// What a reader that is gone has not taken, in one piece.
  [[nodiscard]] ByteSpan untaken() {
    const std::uint64_t taken = indices_->taken.load(std::memory_order_acquire);
    const std::uint64_t from = written_ - taken <= written_ - released() ? taken : read_;
    return {data_ + (from & (capacity_ - 1)), static_cast<std::size_t>(written_ - from)};
  }
  /// The reader's index makes no sense: nothing more can be written.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  bool refresh(std::size_t bytes) {
    const std::uint64_t read = indices_->read.load(std::memory_order_seq_cst);
    if (written_ - read > capacity_ || read < read_) broken_ = true;
    if (broken_) return false;
    read_ = read;
    return capacity_ - (written_ - read_) >= bytes;
  }

  RingIndices* indices_;
  std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // as last seen
  bool broken_ = false;
};

/// The reading end. The writer is not trusted either. Not thread-safe.
class RingReader {
 public:
  RingReader(RingIndices& indices, const std::byte* data, std::size_t capacity)
      : indices_(&indices), data_(data), capacity_(capacity) {}

  [[nodiscard]] bool empty() const {
    return written_ == read_ && indices_->written.load(std::memory_order_acquire) == read_;
  }
  /// What is there to read, in one piece; looks at the writer's index only when nothing is left of
  /// what it saw before.
  [[nodiscard]] ByteSpan readable() {
    if (written_ == read_ && !refresh()) return {};
    return {data_ + (read_ & (capacity_ - 1)), static_cast<std::size_t>(written_ - read_)};
  }
  /// Takes bytes off the front. The writer may use them again after the next `release`.
  void consume(std::size_t bytes) {
    read_ += bytes;
    indices_->taken.store(read_, std::memory_order_release);
  }
  /// Not for every message: the writer may be looking, and each look costs both of them.
  void release() {
    released_ = read_;
    indices_->read.store(read_, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t unreleased() const { return read_ - released_; }
  /// After `release`: true when the writer waits and has to be told; at most once per wait. It is
  /// left waiting until a good part of the ring is free, so that it does not wake up for every
  /// message.
  [[nodiscard]] bool writer_to_be_told() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (indices_->writer_waits.load(std::memory_order_relaxed) == 0) return false;
    const std::uint64_t used = indices_->written.load(std::memory_order_acquire) - read_;
    if (used > capacity_ / 4 * 3) return false;
    return tell_writer(*indices_);
  }

  /// Marks the progress that a waiting writer looks for; true when it waits, and is to be woken.
  /// Thread-safe.
  static bool tell_writer(RingIndices& indices) {
    if (indices.writer_waits.exchange(0, std::memory_order_seq_cst) == 0) return false;
    indices.progress.fetch_add(1, std::memory_order_release);
    return true;
  }

  /// The writer's index makes no sense.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  bool refresh() {
    const std::uint64_t written = indices_->written.load(std::memory_order_acquire);
    if (written - read_ > capacity_) broken_ = true;
    if (broken_) return false;
    written_ = written;
    return written_ != read_;
  }

  RingIndices* indices_;
  const std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t written_ = 0;  // as last seen
  std::uint64_t read_ = 0;
  std::uint64_t released_ = 0;
  bool broken_ = false;
};

}  // namespace muster
