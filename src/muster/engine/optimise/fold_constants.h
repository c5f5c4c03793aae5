#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// Element-wise operators on single numbers are computed while planning.
int fold_constants(Plan& plan);

}  // namespace muster::engine
