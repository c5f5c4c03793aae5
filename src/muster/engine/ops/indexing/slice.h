#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/indexing/range.h"

namespace muster::engine {

/// Python's `start:stop:step`; kOpen stands for a bound that is left away.
struct Slice {
  Index start;
  Index stop;
  Index step = 1;
};

/// The items within a slice of each axis (of the leading ones; the others are taken whole). Only
/// chunks that have some of them are read.
[[nodiscard]] Tensor slice(const Tensor& x, const std::vector<Slice>& slices);

/// "slice" (attributes: `start`, `stop`, `step` for each axis, kOpen where left away; `items`: the
/// axes whose `start` is a single index and which vanish) and "set_slice" (the same, with a second
/// input of the slice's shape, the axes of single items kept, that takes the place of the items).
void register_slices(Registry& registry);

}  // namespace muster::engine
