#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// The shape of a call's index arrays, which are its inputs from `first` on; throws ArrayError if
/// they differ or are not int64.
[[nodiscard]] Shape index_shape(const Call& call, std::size_t first);
/// The same check once the sizes are known.
void check_index_shapes(const TileContext& context, std::size_t first);
/// The inputs of which some size is not known.
[[nodiscard]] std::vector<std::size_t> unknown_inputs(const TileContext& context);

void register_scatter(Registry& registry);

}  // namespace muster::engine
