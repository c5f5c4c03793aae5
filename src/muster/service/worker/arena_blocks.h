#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "muster/base/result.h"
#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/value/array.h"
#include "muster/engine/value/memory.h"

namespace muster::service {

/// Lets kernels write their results where they will stay: large blocks come from the arena of the
/// chunk store, with room for a chunk's header before the items. Thread-safe.
class ArenaBlocks final : public engine::BlockSource {
 public:
  explicit ArenaBlocks(std::shared_ptr<engine::ChunkStore> store) : store_(std::move(store)) {}

  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes) override;

  /// Makes a chunk of an array that is a whole block of this source, without copying it. Nothing if
  /// it is not one; `StorageErrc::exists` if the key is taken.
  [[nodiscard]] static std::optional<Result<void>> seal(const engine::Array& array,
                                                        engine::ChunkKey key, double seconds);

 private:
  const std::shared_ptr<engine::ChunkStore> store_;
};

}  // namespace muster::service
