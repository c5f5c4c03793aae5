#pragma once

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// call_function: a function of the user's language on whole tensors, once. Attributes: `function`,
/// `dtypes` and `shapes` of the results (-1 for extents that are known when it has run).
///
/// map_pairs: a function on every pair of a chunk of rows of one matrix and a chunk of rows of
/// another; gives the block of a matrix with a row for each of the first and a column for each of
/// the second. Attributes: `function`, `dtypes`.
void register_call_function(Registry& registry);

}  // namespace muster::engine
