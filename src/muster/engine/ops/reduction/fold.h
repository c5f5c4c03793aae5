#pragma once

#include <vector>

#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/kernels/reducer.h"

namespace muster::engine {

/// Folds all items of an evaluation of this shape, block by block, into accumulators for the axes
/// that are kept, which were started before. `places`: the loop wants to know where items are.
void fold_chunk(Evaluation& evaluation, const Shape& shape, const std::vector<bool>& reduced,
                const ReduceLoop& loop, bool places, std::byte* accumulators);

/// How many items each result is made of, if they lie one after the other and fit into a block;
/// else 0.
[[nodiscard]] Index short_row(const Shape& shape, const std::vector<bool>& reduced);
/// Reduces rows as short as that, each to a result of type `loop.output`: accumulators never leave
/// the nearest cache.
void reduce_short_rows(Evaluation& evaluation, Index count, Index row, const ReduceLoop& loop,
                       double ddof, std::byte* results);

}  // namespace muster::engine
