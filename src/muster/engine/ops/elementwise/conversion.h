#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The items as another dtype.
[[nodiscard]] Tensor astype(const Tensor& x, DType dtype);
/// `x` where the condition holds, else `y`.
[[nodiscard]] Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);

void register_conversion(Registry& registry);

}  // namespace muster::engine
