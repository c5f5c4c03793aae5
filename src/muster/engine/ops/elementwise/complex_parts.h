#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

void register_complex_parts(Registry& registry);

}  // namespace muster::engine
