#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// map_chunk: a function of the user's language on each chunk, or on the chunks of several tensors
/// that broadcast together. Attributes: `function`, `dtypes`; `elementwise` (the results have the
/// shape of the inputs; else sizes are known when it has run, but the number of axes stays);
/// `with_chunk_index`.
void register_map_chunk(Registry& registry);

}  // namespace muster::engine
