#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The different items of a tensor with one axis, in order; their number is known once it has run.
/// Many chunks lose their repeats one by one, are cut at the same keys, and what lies between two
/// of them is merged.
[[nodiscard]] Tensor unique(const Tensor& x);

void register_unique(Registry& registry);

}  // namespace muster::engine
