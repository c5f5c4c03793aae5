#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// At each place the item of the choice whose number stands there.
[[nodiscard]] Tensor choose(const Tensor& numbers, const std::vector<Tensor>& choices);

/// "choose" (`mode`: raise, wrap, clip; the numbers are int64 or bool).
void register_choose(Registry& registry);

}  // namespace muster::engine
