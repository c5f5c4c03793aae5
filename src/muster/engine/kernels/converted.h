#pragma once

#include "muster/engine/value/array.h"

namespace muster::engine {

/// The items as another type: the array itself if they are of it, else a fresh one without gaps.
[[nodiscard]] Array converted(const Array& array, DType to, Memory& memory);

/// Likewise, and without gaps in any case.
[[nodiscard]] Array gapless(const Array& array, DType to, Memory& memory);

}  // namespace muster::engine
