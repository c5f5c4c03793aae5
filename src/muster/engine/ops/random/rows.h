#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine::random {

/// Distributions of vectors along the last axis: random.dirichlet, random.multinomial and
/// random.multivariate_normal. Parameters are vectors (and a matrix) that all rows share.
void register_rows(Registry& registry);

}  // namespace muster::engine::random
