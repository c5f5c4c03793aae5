#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The items at integer positions of one axis, in the place of that axis.
[[nodiscard]] Tensor take(const Tensor& x, const Tensor& indices, Index axis);

/// "gather" (inputs: x and, for each axis named in `axes`, the positions along it, all of one shape
/// and int64; `at`: before which of the other axes theirs come in the result) and "scatter"
/// (inputs: x, the new items in the shape that gather would give, the positions). Where a position
/// comes twice, the last item stays.
void register_gather(Registry& registry);

}  // namespace muster::engine
