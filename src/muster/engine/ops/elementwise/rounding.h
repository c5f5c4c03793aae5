#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

void register_rounding(Registry& registry);

}  // namespace muster::engine
