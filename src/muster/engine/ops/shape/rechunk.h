#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The same items cut anew: `chunk_size` as in decide_splits; an axis without a wish keeps its
/// cuts.
[[nodiscard]] Tensor rechunk(const Tensor& x, Attribute::Value chunk_size);

void register_rechunk(Registry& registry);

}  // namespace muster::engine
