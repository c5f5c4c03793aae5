#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/program.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// `infer` and `tile` of every operator whose row has a `ufunc`. Attributes: `dtype` (the type to
/// compute in). Inputs of one item that stand for numbers in the user's program carry no weight in
/// promotion; they are marked by `weak` (numbers of inputs).
[[nodiscard]] std::vector<Meta> infer_elementwise(const Call& call);
[[nodiscard]] TileResult tile_elementwise(TileContext& context);

/// The program of one element-wise operator, or of a chain that was fused before.
[[nodiscard]] std::shared_ptr<const Program> program_of(const OperatorRow& row,
                                                        const Attributes& attributes,
                                                        const std::vector<DType>& inputs);

/// Refuses attributes that only passes may set: a graph that somebody sent has none.
void refuse_fused(const Call& call);

/// The operator that stands for a fused chain: its program is an attribute.
[[nodiscard]] const OperatorRow& fused_row();
/// Runs a program on chunks that broadcast together. Attributes: `program`, `dtype`.
[[nodiscard]] const KernelRow& elementwise_kernel();

/// The inputs cut alike, each along the axes it has: what a task at a position of the common grid
/// reads of each. Unknown sizes are taken to be the same where the numbers of chunks are.
struct Aligned {
  Splits splits;
  std::vector<Tiled> inputs;
  /// The chunks at a position of `splits`' grid.
  [[nodiscard]] std::vector<ChunkRef> at(const Shape& position) const;
};
/// Nothing if sizes must be known first. Sources (see sources.h) are cut like the rest.
[[nodiscard]] std::optional<Aligned> align(TileContext& context);

/// The fused operator and the kernel.
void register_elementwise(Registry& registry);

/// A row for a ufunc, with the functions above filled in.
[[nodiscard]] OperatorRow elementwise_row(std::string_view name, std::string_view summary,
                                          const Ufunc& ufunc);

}  // namespace muster::engine
