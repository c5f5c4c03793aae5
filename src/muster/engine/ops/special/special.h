#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// special.erf, special.erfc, special.gamma, special.gammaln, special.xlogy, special.entr,
/// special.rel_entr and special.kl_div: those that need no library.
void register_special(Registry& registry);

}  // namespace muster::engine
