#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Where to cut a tensor of this shape. `chunk_size` is what the user asked for (nothing, a number,
/// a number per axis, or a list that has for each axis a number, the extents, or nothing; throws
/// ArrayError naming `operation` when it does not fit); axes without a wish are cut so that a chunk
/// has about `limit` bytes, as nearly cubic as can be.
[[nodiscard]] Splits decide_splits(const Shape& shape, std::size_t item_size,
                                   const Attribute::Value* chunk_size, std::size_t limit,
                                   const std::string& operation);
/// Likewise, with chunks of the size that suits an execution with these options: small enough that
/// every thread gets some and that they are still in a cache when they are read, and never above
/// `chunk_store_limit`.
[[nodiscard]] Splits decide_splits(const Shape& shape, std::size_t item_size,
                                   const Attribute::Value* chunk_size, const Options& options,
                                   const std::string& operation);

/// Refuses a `chunk_size` that does not fit, where the user wrote it.
void check_chunk_size(const Shape& shape, const Attribute::Value* chunk_size,
                      const std::string& operation);

/// `extent` cut into pieces of `size`, the last one smaller. One empty piece if there is nothing.
[[nodiscard]] std::vector<Index> even_split(Index extent, Index size);

/// The cuts of both together: the coarsest that refines each.
[[nodiscard]] std::vector<Index> common_split(const std::vector<Index>& a,
                                              const std::vector<Index>& b);

/// The pieces of `input` put together and cut anew, so that it has `target` splits. Both must be
/// known and of the same shape. Chunks that stay as they are cost nothing.
[[nodiscard]] Tiled rechunk(TileContext& context, const Tiled& input, DType dtype,
                            const Splits& target);

void register_rechunk_kernel(Registry& registry);

}  // namespace muster::engine
