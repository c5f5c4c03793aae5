#pragma once

#include "muster/cluster/job/value.h"

namespace muster::cluster {

/// Makes a specification of a value, and checks what concerns several fields: names that come
/// twice, dependencies on nobody or in a circle. Adds what is wrong to `problems`; the result is of
/// use only if there is nothing.
Spec spec_from(const Value& value, Problems& problems);

}  // namespace muster::cluster
