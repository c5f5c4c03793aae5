#pragma once

#include <cstddef>
#include <span>

#include "muster/base/buffer.h"
#include "muster/engine/storage/spill_file.h"

namespace muster::engine {

/// Chunks are compressed in blocks of this size, so that neither side needs memory for a whole one.
inline constexpr std::size_t kCompressionBlock = std::size_t{1} << 20;

/// The most that `compress_block` may put out for a block.
[[nodiscard]] std::size_t compressed_bound(SpillCompression compression);

/// Compresses up to `kCompressionBlock` bytes into `out`, which has `compressed_bound`. Returns the
/// length; 0 when it would not be shorter than `block`.
[[nodiscard]] std::size_t compress_block(SpillCompression compression, ByteSpan block,
                                         std::span<std::byte> out);

/// The reverse; false unless `packed` gives exactly `into.size()` bytes. Safe with any bytes.
[[nodiscard]] bool decompress_block(SpillCompression compression, ByteSpan packed,
                                    std::span<std::byte> into);

}  // namespace muster::engine
