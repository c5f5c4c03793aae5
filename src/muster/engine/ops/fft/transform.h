#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The Fourier transforms of numpy.fft, each under its name after "fft.". Attributes: `function`,
/// which transforms a chunk; `axes` and the `sizes` that the result has along them; `dtype`.
///
/// There is no well-kept library of transforms in double precision under a licence that goes with
/// ours among the system's packages, so NumPy's does the work, which lets other threads run
/// meanwhile. The axes that are transformed are put together; others may be cut.
void register_transforms(Registry& registry);

}  // namespace muster::engine
