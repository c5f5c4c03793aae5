#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/sorting/sort_plan.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// What becomes of a lane.
struct SortedLane {
  DType dtype;
  bool places = false;        ///< where the items come from, instead of the items
  std::vector<Shape> shapes;  ///< of its chunks
};

/// Sorts a lane of items in R runs, which become Q chunks of the result:
///
///     R times  sort_run      some chunks         -> a sorted run, and every step-th item of it
///     once     bracket_cuts  R x samples         -> where to cut runs, as closely as samples tell
///     R times  cut_run       run, brackets       -> Q pieces, which overlap a little
///     Q times  merge_pieces  brackets, R x piece -> the items from one exact rank to another
///
/// No task reads more than one run, or more than becomes one chunk, so the lane may be larger than
/// memory, and every item goes to another worker once. Equal items are told apart by where they
/// come from, so parts are even whatever the items are, and their sizes are known beforehand.
///
/// `runs`: the chunks that make up each run, with as many items as the plan says.
[[nodiscard]] std::vector<ChunkRef> sort_lane(TileContext& context, const SortPlan& plan,
                                              const std::vector<std::vector<ChunkRef>>& runs,
                                              const SortedLane& wanted);

/// What goes from task to task: keys, or pairs of keys and places.
[[nodiscard]] Type carried_type(Type items, bool places);

void register_long_sort(Registry& registry);

}  // namespace muster::engine
