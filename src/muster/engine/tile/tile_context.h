#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/session/options.h"
#include "muster/engine/tile/chunk_graph.h"

namespace muster::engine {

/// A tensor cut into chunks: the extents along each axis, and the chunks in grid order (the last
/// axis running fastest).
struct Tiled {
  Splits splits;
  std::vector<ChunkRef> chunks;

  [[nodiscard]] const ChunkRef& at(const Shape& position) const {
    return chunks[number_of(position, grid_of(splits))];
  }
};

/// What an operator answers when it is tiled: its results in chunks, or that the sizes of some
/// chunks must be known first. Those are run, and it is asked again.
class TileResult {
 public:
  TileResult(std::vector<Tiled> outputs)
      : answer_(std::move(outputs)) {}  // NOLINT: the usual answer
  TileResult(Tiled output)
      : answer_(std::vector<Tiled>{std::move(output)}) {}  // NOLINT: the usual answer
  /// These chunks are run before the operator is asked again. `kept`: what it has made so far and
  /// finds in `TileContext::kept` then; everything else it made is forgotten.
  [[nodiscard]] static TileResult wait_for(std::vector<ChunkRef> chunks,
                                           std::vector<Tiled> kept = {}) {
    return TileResult(Wait{std::move(chunks), std::move(kept)});
  }

  [[nodiscard]] bool waits() const { return std::holds_alternative<Wait>(answer_); }
  [[nodiscard]] const std::vector<ChunkRef>& awaited() const {
    return std::get<Wait>(answer_).chunks;
  }
  [[nodiscard]] std::vector<Tiled>& kept() { return std::get<Wait>(answer_).kept; }
  [[nodiscard]] std::vector<Tiled>& outputs() { return std::get<std::vector<Tiled>>(answer_); }

 private:
  struct Wait {
    std::vector<ChunkRef> chunks;
    std::vector<Tiled> kept;
  };
  explicit TileResult(Wait wait) : answer_(std::move(wait)) {}
  std::variant<std::vector<Tiled>, Wait> answer_;
};

/// What an operator has at hand when it is tiled.
class TileContext {
 public:
  TileContext(ChunkGraph& graph, const OperatorRow& row, const Attributes& attributes,
              std::vector<const Tiled*> inputs, std::vector<Meta> input_metas,
              std::vector<Meta> outputs, const std::vector<Tiled>& kept, const Options& options)
      : graph_(graph),
        row_(row),
        attributes_(attributes),
        inputs_(std::move(inputs)),
        input_metas_(std::move(input_metas)),
        outputs_(std::move(outputs)),
        kept_(kept),
        options_(options) {}

  [[nodiscard]] const OperatorRow& row() const { return row_; }
  [[nodiscard]] const Attributes& attributes() const { return attributes_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] const Tiled& input(std::size_t number) const {
    if (number >= inputs_.size()) missing_input(row_, number, inputs_.size());
    return *inputs_[number];
  }
  [[nodiscard]] const Meta& input_meta(std::size_t number) const {
    if (number >= input_metas_.size()) missing_input(row_, number, input_metas_.size());
    return input_metas_[number];
  }
  /// What `infer` said of the results, with sizes that have become known filled in where an input
  /// has the same unknown axis.
  [[nodiscard]] const Meta& output(std::size_t number = 0) const { return outputs_[number]; }
  [[nodiscard]] std::size_t outputs() const { return outputs_.size(); }

  /// Every chunk's size is known.
  [[nodiscard]] bool knows(std::size_t input) const;
  /// The answer of an operator that cannot go on before the sizes of these inputs are known.
  [[nodiscard]] TileResult wait_for_sizes(const std::vector<std::size_t>& inputs) const;

  /// What the operator asked to keep when it waited, with the sizes that are now known.
  [[nodiscard]] const std::vector<Tiled>& kept() const { return kept_; }

  /// A task with one result.
  ChunkRef emit(const KernelRow& kernel, Attributes attributes, std::vector<ChunkRef> inputs,
                Meta output) {
    return {graph_.add(kernel, std::move(attributes), std::move(inputs), {std::move(output)}), 0};
  }
  /// A task with several.
  std::uint32_t emit_many(const KernelRow& kernel, Attributes attributes,
                          std::vector<ChunkRef> inputs, std::vector<Meta> outputs) {
    return graph_.add(kernel, std::move(attributes), std::move(inputs), std::move(outputs));
  }
  /// A chunk that is there already, such as a piece of the user's array.
  ChunkRef emit_ready(Array array) { return graph_.add_ready(std::move(array)); }
  [[nodiscard]] const Meta& meta(ChunkRef chunk) const { return graph_.meta(chunk); }
  /// The items of a chunk of an input or of `kept` that has run; else an empty handle.
  [[nodiscard]] Array value(ChunkRef chunk) const {
    return graph_.tasks()[chunk.task].results[chunk.output];
  }

 private:
  ChunkGraph& graph_;
  const OperatorRow& row_;
  const Attributes& attributes_;
  std::vector<const Tiled*> inputs_;
  std::vector<Meta> input_metas_;
  std::vector<Meta> outputs_;
  const std::vector<Tiled>& kept_;
  const Options& options_;
};

/// One task per chunk of the first input, which gets the chunks of all inputs at its place (inputs
/// of one chunk are given to all): for operators that keep shapes.
[[nodiscard]] Tiled tile_blockwise(TileContext& context, const KernelRow& kernel,
                                   const Attributes& attributes, DType dtype);

}  // namespace muster::engine
