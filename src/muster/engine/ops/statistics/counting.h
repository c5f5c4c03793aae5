#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// How often each whole number from 0 comes; at least `minlength` of them.
[[nodiscard]] Tensor bincount(const Tensor& x, Index minlength = 0);
/// In which bin each item is; the edges go up or down.
[[nodiscard]] Tensor digitize(const Tensor& x, const Tensor& edges, bool right = false);

/// bincount, digitize.
void register_counting(Registry& registry);

}  // namespace muster::engine
