#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// A tensor of items that are there: the user's array is shared, not copied, and cut into views.
/// `chunk_size` as in decide_splits.
[[nodiscard]] Tensor constant(Array array, Attribute::Value chunk_size = {});
/// A single number.
[[nodiscard]] Tensor constant(const Scalar& scalar);

[[nodiscard]] const OperatorRow& constant_row();
/// Gives its attribute `array`: how constants travel to workers.
[[nodiscard]] const KernelRow& literal_kernel();
void register_constant(Registry& registry);

}  // namespace muster::engine
