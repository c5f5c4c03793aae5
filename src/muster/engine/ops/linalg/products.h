#pragma once

#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

// NumPy's functions of these names.
[[nodiscard]] Tensor dot(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor inner(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor vdot(const Tensor& a, const Tensor& b);
[[nodiscard]] Tensor matmul(const Tensor& a, const Tensor& b);
/// Sums over these axes of each, which go together in the order given.
[[nodiscard]] Tensor tensordot(const Tensor& a, const Tensor& b, const Ints& axes_a,
                               const Ints& axes_b);

void register_products(Registry& registry);

}  // namespace muster::engine
