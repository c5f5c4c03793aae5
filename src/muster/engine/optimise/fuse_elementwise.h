#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// Joins chains of element-wise operators into one program over blocks, together with the
/// reduction that closes them. An operator joins its reader when that is its only reader (or all
/// its readers were joined into one) and their shapes are the same, so nothing is computed twice.
int fuse_elementwise(Plan& plan);

}  // namespace muster::engine
