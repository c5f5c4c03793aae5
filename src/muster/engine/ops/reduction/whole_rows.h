#pragma once

#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// A large array that lies in memory, cut into chunks of whole rows, about as large as they were:
/// memory is read fastest from one end to the other. Anything else, and rows that are too long for
/// many of them to be in a chunk, stays as it is.
[[nodiscard]] Tiled in_whole_rows(TileContext& context, const Tiled& tiled);

}  // namespace muster::engine
