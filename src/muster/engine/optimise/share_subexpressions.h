#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// The same operator with the same parameters on the same inputs is computed once. Operators that
/// do something besides computing (`effects`) stay apart.
int share_subexpressions(Plan& plan);

}  // namespace muster::engine
