#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The k largest (or smallest) items along an axis, the most extreme first; `argtopk` gives their
/// places, of equal ones the first. Each chunk gives up to k, and these are joined.
[[nodiscard]] Tensor topk(const Tensor& x, Index k, Index axis = -1, bool largest = true);
[[nodiscard]] Tensor argtopk(const Tensor& x, Index k, Index axis = -1, bool largest = true);

void register_topk(Registry& registry);

}  // namespace muster::engine
