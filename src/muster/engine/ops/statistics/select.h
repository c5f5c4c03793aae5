#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// Quantiles of all items of many chunks, without bringing them together. First the items are
/// counted by the leading bits of their values; the counts say in which of 65536 bins a quantile
/// lies; only the items of those bins are collected, and the quantile is selected among them. The
/// items are read twice. `attributes` as for the kernel `quantile`.
[[nodiscard]] ChunkRef select_over_chunks(TileContext& context, const Tiled& input,
                                          const Attributes& attributes, const Meta& result);

void register_select(Registry& registry);

}  // namespace muster::engine
