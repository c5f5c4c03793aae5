#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

[[nodiscard]] Tensor any(const Tensor& x, const Over& over = {});
[[nodiscard]] Tensor all(const Tensor& x, const Over& over = {});

/// any, all.
void register_truth(Registry& registry);

}  // namespace muster::engine
