#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine::random {

/// random.permutation (the first `count` of `n` numbers in random order), random.categorical
/// (numbers drawn with probabilities) and random.categorical_distinct (each at most once).
void register_choice(Registry& registry);

}  // namespace muster::engine::random
