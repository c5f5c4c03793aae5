#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// One-dimensional counts, added up `combine_size` at a time; shorter ones count as padded with
/// zeros. The result has at least `minlength` items.
[[nodiscard]] ChunkRef join_counts(TileContext& context, std::vector<ChunkRef> counts,
                                   Index minlength);
/// The second input cut as the first, if there is one; false if sizes must be known before.
[[nodiscard]] bool align_weights(TileContext& context, std::size_t weights, Tiled& out);

void register_join_counts(Registry& registry);

}  // namespace muster::engine
