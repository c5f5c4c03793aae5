#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// Slices move towards the sources, past element-wise operators that nobody else reads: what is not
/// asked for is not computed.
int push_slices(Plan& plan);

}  // namespace muster::engine
