#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/kernel.h"

namespace muster::engine {

/// Calls a function of the user's language on chunks. Attributes: `function`; `dtypes` of the
/// results, which are checked; `shape` that they must have, if it is known; `chunk_index`, if the
/// function wants to know where its chunk is.
[[nodiscard]] const KernelRow& function_kernel();

/// The dtypes of the results that a call names.
[[nodiscard]] std::vector<DType> dtypes_of(const Attributes& attributes);

void register_function_kernel(Registry& registry);

}  // namespace muster::engine
