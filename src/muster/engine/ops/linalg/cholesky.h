#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// L with a = L · Lᴴ, for a Hermitian positive definite matrix or stacks of them.
[[nodiscard]] Tensor cholesky(const Tensor& a);

void register_cholesky(Registry& registry);

}  // namespace muster::engine
