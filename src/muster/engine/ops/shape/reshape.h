#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The items in C order as another shape; one extent may be -1.
[[nodiscard]] Tensor reshape(const Tensor& x, const Shape& shape);

void register_reshape(Registry& registry);

}  // namespace muster::engine
