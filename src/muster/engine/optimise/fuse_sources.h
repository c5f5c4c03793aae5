#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// Items that can be made anywhere, such as random numbers, are made block by block by the
/// element-wise operator or reduction that reads them, if it is their only reader: they never go
/// through memory. After `fuse_elementwise`. Gives how many operators it took in.
int fuse_sources(Plan& plan);

}  // namespace muster::engine
