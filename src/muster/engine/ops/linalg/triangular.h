#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// x with a · x = b, where a is a triangle (what is beyond the diagonal is not read).
[[nodiscard]] Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower = false,
                                      bool unit_diagonal = false);

void register_triangular(Registry& registry);

}  // namespace muster::engine
