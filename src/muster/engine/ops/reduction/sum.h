#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

[[nodiscard]] Tensor sum(const Tensor& x, const Over& over = {});
[[nodiscard]] Tensor mean(const Tensor& x, const Over& over = {});

/// sum, nansum, mean, nanmean, count_nonzero.
void register_sum(Registry& registry);

}  // namespace muster::engine
