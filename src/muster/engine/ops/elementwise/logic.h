#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

void register_logic(Registry& registry);

}  // namespace muster::engine
