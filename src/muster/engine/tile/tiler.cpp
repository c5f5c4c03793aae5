#include "muster/engine/tile/tiler.h"

#include <utility>

#include "muster/base/assert.h"

namespace muster::engine {

namespace {

class Tiler {
 public:
  Tiler(const Plan& plan, ChunkGraph& graph, const Options& options, const RunStage& run)
      : plan_(plan),
        graph_(graph),
        options_(options),
        run_(run),
        tiled_(plan.steps.size()),
        left_(reader_counts(plan)) {}

  std::vector<Tiled> operator()() {
    for (std::uint32_t step = 0; step < plan_.steps.size(); ++step) tile(step);
    std::vector<Tiled> results;
    for (const PlanRef result : plan_.results)
      results.push_back(tiled_[result.step][result.output]);
    return results;
  }

 private:
  void tile(std::uint32_t number) {
    const PlanStep& step = plan_.steps[number];
    graph_.begin(std::string(step.row->name), step.origin);
    if (step.is_stored()) {
      for (const auto& stored : step.stored) {
        Tiled tiled{stored->splits(), {}};
        for (std::size_t chunk = 0; chunk < chunk_count(tiled.splits); ++chunk)
          tiled.chunks.push_back(graph_.add_stored(stored, chunk));
        pin(tiled);
        tiled_[number].push_back(std::move(tiled));
      }
      let_go(step.inputs);
    } else {
      tiled_[number] = tile_in_stages(step);
    }
    for (std::size_t output = 0; output < tiled_[number].size(); ++output) {
      MUSTER_ASSERT(
          tiled_[number][output].chunks.size() == chunk_count(tiled_[number][output].splits),
          "an operator makes as many chunks as its splits say");
      if (left_[number][output] == 0) unpin(tiled_[number][output]);
    }
  }

  /// The results, pinned. The inputs are let go: when the operator is done, or waits for what it
  /// has made of them and keeps.
  std::vector<Tiled> tile_in_stages(const PlanStep& step) {
    std::vector<Tiled> kept;
    bool has_inputs = true;
    const auto done_with_inputs = [&] {
      if (std::exchange(has_inputs, false)) let_go(step.inputs);
    };
    for (;;) {
      std::vector<const Tiled*> inputs;
      std::vector<Meta> metas;
      for (const PlanRef input : step.inputs) {
        learn_sizes(graph_, tiled_[input.step][input.output]);
        inputs.push_back(&tiled_[input.step][input.output]);
        metas.push_back({plan_.meta(input).dtype, shape_of(inputs.back()->splits)});
      }
      for (Tiled& own : kept) learn_sizes(graph_, own);
      TileContext context(graph_, *step.row, step.attributes, std::move(inputs), std::move(metas),
                          step.outputs, kept, options_);
      TileResult result = step.row->tile(context);
      if (result.waits()) {
        for (const Tiled& own : result.kept()) pin(own);
        for (const ChunkRef chunk : result.awaited()) graph_.pin(chunk);
        if (!result.kept().empty()) done_with_inputs();
        run_(graph_, result.awaited());
        for (const ChunkRef chunk : result.awaited()) graph_.unpin(chunk);
      }
      // What was kept may be what comes out, so that is pinned first.
      if (!result.waits())
        for (const Tiled& output : result.outputs()) pin(output);
      for (const Tiled& own : kept) unpin(own);
      if (!result.waits()) {
        done_with_inputs();
        return std::move(result.outputs());
      }
      kept = std::move(result.kept());
    }
  }

  void pin(const Tiled& tiled) {
    for (const ChunkRef chunk : tiled.chunks) graph_.pin(chunk);
  }

  void unpin(const Tiled& tiled) {
    for (const ChunkRef chunk : tiled.chunks) graph_.unpin(chunk);
  }

  void let_go(const std::vector<PlanRef>& refs) {
    for (const PlanRef ref : refs)
      if (--left_[ref.step][ref.output] == 0) unpin(tiled_[ref.step][ref.output]);
  }

  const Plan& plan_;
  ChunkGraph& graph_;
  const Options& options_;
  const RunStage& run_;
  std::vector<std::vector<Tiled>> tiled_;
  std::vector<std::vector<std::uint32_t>> left_;  ///< readers of each output that are not tiled yet
};

}  // namespace

void learn_sizes(const ChunkGraph& graph, Tiled& tiled) {
  const Shape grid = grid_of(tiled.splits);
  for (std::size_t axis = 0; axis < tiled.splits.size(); ++axis) {
    if (is_known(tiled.splits[axis])) continue;
    for (Index i = 0; i < grid[axis]; ++i) {
      Index& extent = tiled.splits[axis][static_cast<std::size_t>(i)];
      Shape position(grid.size(), 0);
      position[axis] = i;
      if (extent == kUnknown)
        extent = graph.meta(tiled.chunks[number_of(position, grid)]).shape[axis];
    }
  }
}

std::vector<Tiled> tile_plan(const Plan& plan, ChunkGraph& graph, const Options& options,
                             const RunStage& run) {
  return Tiler(plan, graph, options, run)();
}

}  // namespace muster::engine
