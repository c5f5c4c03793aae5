#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/engine/storage/chunk_key.h"

namespace muster::engine {

enum class SpillCompression : std::uint8_t { none, lz4, zstd };

/// Writes a chunk under a temporary name beside `path` and renames it, so that `path` is whole or
/// not there. With `spare`, a file that nobody reads becomes it. Returns the length of the file.
/// Failures are those of the system, and leave nothing behind. README.md has the format.
[[nodiscard]] Result<std::size_t> write_spill_file(const std::string& path, ChunkKey key,
                                                   ByteSpan bytes, SpillCompression compression,
                                                   const std::string& spare = {});

/// Reads the chunk back; `into` has its size. `StorageErrc::corrupt` when the file does not give,
/// in every byte, the chunk that was written; other failures are those of the system.
[[nodiscard]] Result<void> read_spill_file(const std::string& path, ChunkKey key,
                                           std::span<std::byte> into);

}  // namespace muster::engine
