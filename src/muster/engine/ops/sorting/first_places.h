#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// Where the different items of a vector are first, and how often they come.
void register_first_places(Registry& registry);

}  // namespace muster::engine
