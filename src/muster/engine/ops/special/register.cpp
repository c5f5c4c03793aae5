#include "muster/engine/ops/register.h"

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/special/special.h"

namespace muster::engine {

void register_special_operators(Registry& registry) { register_special(registry); }

}  // namespace muster::engine
