#pragma once

#include "muster/comm/collective/reduction.h"

namespace muster::comm::collective::vector {

/// The kernel for one kind and element in the widest vectors that this processor has; null where
/// there is none, or where plain code is as good.
[[nodiscard]] ReduceKernel kernel(ReductionKind kind, Element element);

/// The vectors that were chosen for this processor: "AVX3", "AVX2", "NEON", …
[[nodiscard]] const char* target();

}  // namespace muster::comm::collective::vector
