#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// One after the other along an axis; dtypes are promoted.
[[nodiscard]] Tensor concatenate(const std::vector<Tensor>& parts, Index axis = 0);
/// Side by side along a new axis.
[[nodiscard]] Tensor stack(const std::vector<Tensor>& parts, Index axis = 0);

void register_concatenate(Registry& registry);

}  // namespace muster::engine
