#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

/// `ddof` is taken off the number of items.
[[nodiscard]] Tensor var(const Tensor& x, const Over& over = {}, double ddof = 0);
[[nodiscard]] Tensor std_(const Tensor& x, const Over& over = {}, double ddof = 0);

/// var, std, nanvar, nanstd.
void register_variance(Registry& registry);

}  // namespace muster::engine
