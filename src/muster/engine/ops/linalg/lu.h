#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// p, l and u with a = p · l · u: rows are chosen for size within each panel of columns. Matrices
/// only.
[[nodiscard]] std::vector<Tensor> lu(const Tensor& a);
/// x with a · x = b; a is square, b a vector or a matrix, or both are stacks of matrices.
[[nodiscard]] Tensor solve(const Tensor& a, const Tensor& b);
/// The inverse of a square matrix, or of stacks of them.
[[nodiscard]] Tensor inv(const Tensor& a);

void register_lu(Registry& registry);

}  // namespace muster::engine
