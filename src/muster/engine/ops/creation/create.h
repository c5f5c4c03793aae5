#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// The result of an operator that reads nothing: cut as `chunk_size` says, a kernel for each chunk.
/// Every kernel gets the operator's attributes and, as `shape` and `first`, what its chunk is and
/// where in the whole it begins.
[[nodiscard]] Tiled create(TileContext& context, const KernelRow& kernel);

/// The extents that the attribute `shape` names, which may be one number; throws ArrayError (value)
/// for negative ones and for a `chunk_size` that does not fit.
[[nodiscard]] Shape asked_shape(const Call& call);

}  // namespace muster::engine
