#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Ones on the `k`-th diagonal (above the main one if positive), zeros elsewhere.
[[nodiscard]] Tensor eye(Index rows, Index columns, Index k = 0, DType dtype = Type::f64,
                         Attribute::Value chunk_size = {});
/// The last two axes with zeros above (tril) or below (triu) the `k`-th diagonal.
[[nodiscard]] Tensor tril(const Tensor& x, Index k = 0);
[[nodiscard]] Tensor triu(const Tensor& x, Index k = 0);

void register_triangles(Registry& registry);

}  // namespace muster::engine
