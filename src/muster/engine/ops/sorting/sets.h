#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Whether each item of `x` is one of `test`.
[[nodiscard]] Tensor isin(const Tensor& x, const Tensor& test, bool invert = false);
/// Where items would go in a sorted tensor with one axis: before equal ones, or (`right`) behind.
[[nodiscard]] Tensor searchsorted(const Tensor& sorted, const Tensor& items, bool right = false);

void register_sets(Registry& registry);

}  // namespace muster::engine
