#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The items along an axis in ascending order, NaN and NaT last. Lanes that fit into a chunk are
/// put together there, many in one; longer ones are sorted in runs and merged (long_sort.h).
[[nodiscard]] Tensor sort(const Tensor& x, Index axis = -1);
/// The places of the items in ascending order; equal ones keep their order.
[[nodiscard]] Tensor argsort(const Tensor& x, Index axis = -1);

void register_sort(Registry& registry);

}  // namespace muster::engine
