#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/engine/storage/arena.h"
#include "muster/engine/storage/chunk_key.h"

namespace muster::engine {

class ChunkStore;
struct ChunkEntry;

/// A sealed chunk that stays in memory, where it is, while this or a copy of it lives. Keeps the
/// store alive too.
class PinnedChunk {
 public:
  PinnedChunk() = default;
  PinnedChunk(std::shared_ptr<const std::byte> data, BlockPlace place)
      : data_(std::move(data)), place_(place) {}

  [[nodiscard]] ByteSpan bytes() const { return {data_.get(), place_.length}; }
  /// For readers in other processes.
  [[nodiscard]] BlockPlace place() const { return place_; }
  /// For `Array::share`.
  [[nodiscard]] std::shared_ptr<const void> owner() const { return data_; }

 private:
  std::shared_ptr<const std::byte> data_;
  BlockPlace place_;
};

/// While this lives, the store lets the chunks leave memory after all others: somebody is going to
/// use them. It says nothing about whether they are there.
class ExpectedChunks {
 public:
  ExpectedChunks() = default;
  ExpectedChunks(std::shared_ptr<ChunkStore> store, std::vector<ChunkKey> keys)
      : store_(std::move(store)), keys_(std::move(keys)) {}
  ExpectedChunks(ExpectedChunks&& other) noexcept = default;
  ExpectedChunks& operator=(ExpectedChunks&& other) noexcept {
    std::swap(store_, other.store_);
    std::swap(keys_, other.keys_);
    return *this;
  }
  ~ExpectedChunks();

 private:
  std::shared_ptr<ChunkStore> store_;
  std::vector<ChunkKey> keys_;
};

/// A chunk being written, which nobody else sees. It is gone with the object unless it was sealed.
/// Not thread-safe.
class ChunkWriter {
 public:
  ChunkWriter(std::shared_ptr<ChunkStore> store, std::shared_ptr<ChunkEntry> entry,
              std::span<std::byte> bytes, BlockPlace place);
  ChunkWriter(ChunkWriter&&) noexcept = default;
  ChunkWriter& operator=(ChunkWriter&&) = delete;
  ~ChunkWriter();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] BlockPlace place() const { return place_; }

  /// From now on the chunk can be had and does not change. It stays pinned while the result lives.
  /// Throws std::logic_error the second time.
  PinnedChunk seal();
  /// The same for a block that was taken without a key. `StorageErrc::exists` where the key is
  /// taken: the block stays as it is.
  [[nodiscard]] Result<PinnedChunk> seal_as(ChunkKey key, double seconds = 0);

 private:
  std::shared_ptr<ChunkStore> store_;
  std::shared_ptr<ChunkEntry> entry_;
  std::span<std::byte> bytes_;
  BlockPlace place_;
};

}  // namespace muster::engine
