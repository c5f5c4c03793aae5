#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Along one axis, the items at the positions that stand in `indices` (int64); the other axes have
/// the same extents.
[[nodiscard]] Tensor take_along_axis(const Tensor& x, const Tensor& indices, Index axis);

/// "take_along_axis" and "put_along_axis" (a third input: the new items, in the shape of indices).
void register_along_axis(Registry& registry);

}  // namespace muster::engine
