#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/kernels/reducer.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// `infer` and `tile` of every operator whose row has a `reducer`. Attributes: `axis` (nothing for
/// all, one, or several), `keepdims`, `dtype` (to compute in), and `program` where the optimiser
/// has put the chain of element-wise operators before it.
///
/// Each chunk is reduced by itself; the partial results are joined `combine_size` at a time.
[[nodiscard]] std::vector<Meta> infer_reduction(const Call& call);
[[nodiscard]] TileResult tile_reduction(TileContext& context);

[[nodiscard]] OperatorRow reduction_row(std::string_view name, std::string_view summary,
                                        const Reducer& reducer);
void register_reduce_kernels(Registry& registry);

/// The dtype of the results of the reduction `name`; throws ArrayError if it is not defined.
[[nodiscard]] DType reduced_dtype(std::string_view name, DType input, const Attributes& attributes);
/// One chunk reduced along one axis, which stays as an axis of extent 1; the results are `dtype`.
[[nodiscard]] ChunkRef emit_reduction(TileContext& context, const std::string& name, DType dtype,
                                      ChunkRef chunk, int axis);

/// The axes that `axis` names, all if it is left away.
[[nodiscard]] std::vector<int> reduced_axes(const Attributes& attributes, std::size_t ndim,
                                            const std::string& operation);
/// The shape without them, or with ones in their place.
[[nodiscard]] Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keepdims);

}  // namespace muster::engine
