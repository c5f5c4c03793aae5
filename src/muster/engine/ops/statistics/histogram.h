#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// How many items are between the edges, which go up. The last bin includes its end.
[[nodiscard]] Tensor histogram_count(const Tensor& x, const Tensor& edges);

/// histogram_count (inputs x, edges and perhaps weights; `uniform`: the edges are evenly spaced)
/// and histogram_edges (inputs: number of items, least, greatest and what the rule `bins` needs).
void register_histogram(Registry& registry);

}  // namespace muster::engine
