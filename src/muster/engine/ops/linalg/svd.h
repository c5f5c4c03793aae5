#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// u, s and vh with a = u · diag(s) · vh; u and vh have as many columns and rows as s has items,
/// unless `full`. Tall and wide matrices are cut along their long axis; others are one task.
[[nodiscard]] std::vector<Tensor> svd(const Tensor& a, bool full = false);
/// The singular values alone.
[[nodiscard]] Tensor svdvals(const Tensor& a);
/// Eigenvalues, ascending, and eigenvectors of a Hermitian matrix.
[[nodiscard]] std::vector<Tensor> eigh(const Tensor& a, bool lower = true);
/// The sign of the determinant and the logarithm of its absolute value.
[[nodiscard]] std::vector<Tensor> slogdet(const Tensor& a);
[[nodiscard]] Tensor det(const Tensor& a);

void register_svd(Registry& registry);

}  // namespace muster::engine
