#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The `offset`-th diagonal of the last two axes.
[[nodiscard]] Tensor diagonal(const Tensor& x, Index offset = 0);
/// A square matrix with a vector on its `k`-th diagonal, or that diagonal of a matrix.
[[nodiscard]] Tensor diag(const Tensor& x, Index k = 0);

void register_diagonals(Registry& registry);

}  // namespace muster::engine
