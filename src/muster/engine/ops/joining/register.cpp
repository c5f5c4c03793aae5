#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/joining/concatenate.h"

namespace muster::engine {

void register_joining_operators(Registry& registry) { register_concatenate(registry); }

}  // namespace muster::engine
