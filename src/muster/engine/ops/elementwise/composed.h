#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Not below `low` and not above `high`.
[[nodiscard]] Tensor clip(const Tensor& x, const Tensor& low, const Tensor& high);
/// To `decimals` places after the point, before it if negative.
[[nodiscard]] Tensor around(const Tensor& x, int decimals = 0);
/// Whether they differ by at most `atol + rtol * |y|`.
[[nodiscard]] Tensor isclose(const Tensor& x, const Tensor& y, double rtol = 1e-5,
                             double atol = 1e-8, bool equal_nan = false);

void register_composed(Registry& registry);

}  // namespace muster::engine
