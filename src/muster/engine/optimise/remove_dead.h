#pragma once

#include "muster/engine/optimise/plan.h"

namespace muster::engine {

/// Steps whose results nobody reads are taken away.
int remove_dead(Plan& plan);

}  // namespace muster::engine
