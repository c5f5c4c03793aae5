#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "muster/engine/storage/chunk_key.h"
#include "muster/engine/storage/spill_pool.h"

namespace muster::engine {

/// What a store knows about a chunk. It outlives its place in the table while somebody still uses
/// the block: `dropped` then says that the last of them frees it.
struct ChunkEntry {
  enum class Stage : std::uint8_t {
    writing,   ///< not sealed
    resident,  ///< in memory
    spilling,  ///< in memory, and being written to disk
    spilled,   ///< only on disk
    loading,   ///< being read back
  };
  ChunkKey key;
  std::size_t bytes = 0;
  double seconds = 0;  ///< what it took to make
  Stage stage = Stage::writing;
  std::optional<std::size_t> offset{};  ///< of its block, if it has one
  std::optional<SpillFile> file{};      ///< its copy on disk
  std::uint32_t pins = 0;
  std::uint64_t references = 1;
  bool dropped = false;
};

}  // namespace muster::engine
