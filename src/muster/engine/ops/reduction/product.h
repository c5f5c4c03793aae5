#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

[[nodiscard]] Tensor prod(const Tensor& x, const Over& over = {});

/// prod, nanprod.
void register_product(Registry& registry);

}  // namespace muster::engine
