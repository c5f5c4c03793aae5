#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

[[nodiscard]] Tensor argmin(const Tensor& x, const Over& over = {});
[[nodiscard]] Tensor argmax(const Tensor& x, const Over& over = {});

/// argmin, argmax, nanargmin, nanargmax.
void register_arg(Registry& registry);

}  // namespace muster::engine
