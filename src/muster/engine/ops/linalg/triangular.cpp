#include "muster/engine/ops/linalg/triangular.h"

#include <algorithm>
#include <complex>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

void check_regular(const Array& block) {
  with_type(block.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Float16>)
      for (Index i = 0; i < block.shape()[0]; ++i)
        if (*reinterpret_cast<const T*>(block.data() +
                                        i * (block.strides()[0] + block.strides()[1])) == T{})
          throw ArrayError(Wrong::linalg,
                           "[solve_triangular] the matrix is singular: a zero on the diagonal");
  });
}

/// One block of x: inputs are b's block, the diagonal block, and pairs of a block of its row and
/// the block of x that goes with it.
void run_triangular(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool lower = context.attributes().get<bool>("lower");
  const bool unit = context.attributes().get<bool>("unit");
  Memory& memory = context.memory();
  const Array b = converted(context.input(0), dtype, memory);
  Array out = copied(b.ndim() == 1 ? b.reshaped(memory, {b.shape()[0], 1}) : b, memory);
  for (std::size_t i = 2; i < context.inputs().size(); i += 2) {
    const Array left = converted(context.input(i), dtype, memory);
    const Array& x = context.input(i + 1);
    const Array right = x.ndim() == 1 ? x.reshaped(memory, {x.shape()[0], 1}) : x;
    add_product(dtype.type, matrix_of(left), matrix_of(right), out.mutable_data(), out.shape()[1],
                Sign::minus, memory);
  }
  const Array diagonal = converted(context.input(1), dtype, memory);
  if (!unit) check_regular(diagonal);
  solve_left(diagonal, lower ? Triangle::lower : Triangle::upper,
             unit ? Diagonal::unit : Diagonal::stored, out, memory);
  context.set(out.reshaped(memory, b.shape()));
}
constexpr KernelRow kTriangularKernel{"solve_triangular", run_triangular};

std::vector<Meta> infer_triangular(const Call& call) {
  const Meta a = call.inputs[0].meta();
  const Meta b = call.inputs[1].meta();
  check_matrix(a, true, call.prefix());
  if (a.shape.size() != 2 || b.shape.empty() || b.shape.size() > 2)
    wrong_value(fmt::format("{}takes a matrix and a vector or matrix: shapes {} and {}",
                            call.prefix(), text(a.shape), text(b.shape)));
  if (a.shape[1] != b.shape[0] && a.shape[1] != kUnknown && b.shape[0] != kUnknown)
    wrong_value(fmt::format("{}sizes differ: {} and {}, of shapes {} and {}", call.prefix(),
                            a.shape[1], b.shape[0], text(a.shape), text(b.shape)));
  const auto both = promote(factor_dtype(a.dtype, call.prefix()), b.dtype);
  if (!both) wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(b.dtype)));
  return {{*both, b.shape}};
}

TileResult tile_triangular(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  const bool lower = context.attributes().get<bool>("lower", false);
  const bool unit = context.attributes().get<bool>("unit_diagonal", false);
  const DType dtype = context.output().dtype;
  const bool vector = context.input_meta(1).shape.size() == 1;
  const Index length = block_length(context.input_meta(0).shape[0], context.options().threads);
  const Splits& given = context.input(0).splits;
  const std::vector<Index> blocks = at_most(common_split(given[0], given[1]), length);
  const Tiled a = rechunk(context, context.input(0), context.input_meta(0).dtype, {blocks, blocks});
  Splits target = {blocks};
  if (!vector) target.push_back(at_most(context.input(1).splits[1], length));
  const Tiled b = rechunk(context, context.input(1), context.input_meta(1).dtype, target);
  Tiled out{target, std::vector<ChunkRef>(b.chunks.size())};
  const auto count = static_cast<Index>(blocks.size());
  const Index columns = vector ? 1 : static_cast<Index>(target[1].size());
  const auto at = [&](Index row, Index column) {
    return static_cast<std::size_t>(row * columns + column);
  };
  const Attributes attributes = {{"dtype", dtype}, {"lower", lower}, {"unit", unit}};
  for (Index step = 0; step < count; ++step) {
    const Index row = lower ? step : count - 1 - step;
    for (Index column = 0; column < columns; ++column) {
      std::vector<ChunkRef> inputs = {b.chunks[at(row, column)], a.at({row, row})};
      for (Index known = lower ? 0 : row + 1; known < (lower ? row : count); ++known) {
        inputs.push_back(a.at({row, known}));
        inputs.push_back(out.chunks[at(known, column)]);
      }
      out.chunks[at(row, column)] =
          context.emit(kTriangularKernel, attributes, std::move(inputs),
                       {dtype, extents_at(target, vector ? Shape{row} : Shape{row, column})});
    }
  }
  return out;
}

constexpr OperatorRow kTriangularRow{.name = "solve_triangular",
                                     .summary = "x with a · x = b for a triangular a",
                                     .family = Family::linalg,
                                     .infer = infer_triangular,
                                     .tile = tile_triangular};

}  // namespace

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool lower, bool unit_diagonal) {
  return apply_one(kTriangularRow, {a, b}, {{"lower", lower}, {"unit_diagonal", unit_diagonal}});
}

void register_triangular(Registry& registry) {
  registry.add(kTriangularRow);
  registry.add(kTriangularKernel);
}

}  // namespace muster::engine
