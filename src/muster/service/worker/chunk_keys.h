#pragma once

#include "muster/engine/schedule/ids.h"
#include "muster/engine/storage/chunk_key.h"

namespace muster::service {

/// The name of a chunk in the store of a worker.
[[nodiscard]] inline engine::ChunkKey key_of(engine::ChunkId chunk) {
  return {chunk.session.value(), chunk.index};
}

[[nodiscard]] inline engine::ChunkId chunk_of(engine::ChunkKey key) {
  return {engine::SessionId(static_cast<std::uint32_t>(key.session)),
          static_cast<std::uint32_t>(key.chunk)};
}

}  // namespace muster::service
