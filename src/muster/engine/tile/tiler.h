#pragma once

#include <functional>
#include <span>
#include <vector>

#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/options.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// Runs chunks that must be known before tiling can go on, or at the end.
using RunStage = std::function<void(ChunkGraph& graph, std::span<const ChunkRef> wanted)>;

/// Tiles the steps of a plan in order into `graph`. Operators that need sizes are tiled in stages:
/// `run` computes what they wait for. Gives the results in chunks, not yet run, and pinned.
[[nodiscard]] std::vector<Tiled> tile_plan(const Plan& plan, ChunkGraph& graph,
                                           const Options& options, const RunStage& run);

/// Fills in the sizes that chunks turned out to have.
void learn_sizes(const ChunkGraph& graph, Tiled& tiled);

}  // namespace muster::engine
