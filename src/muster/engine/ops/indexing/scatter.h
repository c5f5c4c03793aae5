#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// The shape of a call's index arrays, which are its inputs from `first` on; throws ArrayError if
/// they differ or are not int64.
[[nodiscard]] Shape index_shape(const Call& call, std::size_t first);
/// The same check once the sizes are known.
void check_index_shapes(const TileContext& context, std::size_t first);

void register_scatter(Registry& registry);

}  // namespace muster::engine
