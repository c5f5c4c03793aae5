#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The items of an axis where a mask of one axis is true; how many is known only after the run.
[[nodiscard]] Tensor compress(const Tensor& x, const Tensor& mask, Index axis);
/// The positions, in C order, of items that are not zero.
[[nodiscard]] Tensor flatnonzero(const Tensor& x);

/// "compress", "flatnonzero" and "unravel_index".
void register_masks(Registry& registry);

}  // namespace muster::engine
