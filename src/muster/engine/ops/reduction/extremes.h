#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

[[nodiscard]] Tensor min(const Tensor& x, const Over& over = {});
[[nodiscard]] Tensor max(const Tensor& x, const Over& over = {});

/// min, max, nanmin, nanmax.
void register_extremes(Registry& registry);

}  // namespace muster::engine
