#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Repeated along new axes and those of extent one, without copying.
[[nodiscard]] Tensor broadcast_to(const Tensor& x, const Shape& shape);

void register_broadcast(Registry& registry);

}  // namespace muster::engine
