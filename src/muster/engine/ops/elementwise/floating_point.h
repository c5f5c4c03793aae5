#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

void register_floating_point(Registry& registry);

}  // namespace muster::engine
