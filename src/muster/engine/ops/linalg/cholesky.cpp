#include "muster/engine/ops/linalg/cholesky.h"

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"

// A block of L at row i and column j is what is left of A's after the products of the blocks to the
// left of both rows; on the diagonal that is factored, below it divided by the diagonal's factor.
// So each block is one task, which adds up in place:
//   L[j][j] = cholesky(A[j][j] - Σ L[j][k] · L[j][k]ᴴ)
//   L[i][j] = (A[i][j] - Σ L[i][k] · L[j][k]ᴴ) · L[j][j]⁻ᴴ       k < j < i

namespace muster::engine {

namespace {

/// Inputs: A's block, pairs of blocks to the left, and below the diagonal its factor.
void run_block(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool diagonal = context.attributes().get<bool>("diagonal");
  Memory& memory = context.memory();
  Array rest = copied(converted(context.input(0), dtype, memory), memory);
  const std::size_t end = context.inputs().size() - (diagonal ? 0 : 1);
  for (std::size_t i = 1; i < end; i += 2) {
    const Array right = adjoint(context.input(i + 1), memory);
    add_product(dtype.type, matrix_of(context.input(i)), matrix_of(right), rest.mutable_data(),
                rest.shape()[1], Sign::minus, memory);
  }
  if (diagonal) {
    context.set(lapack_cholesky(rest, memory));
    return;
  }
  solve_right_adjoint(context.inputs().back(), Triangle::lower, rest, memory);
  context.set(std::move(rest));
}
constexpr KernelRow kBlock{"cholesky_block", run_block};

void run_cholesky_stack(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const Array in = converted(context.input(0), dtype, context.memory());
  Array out = context.make(dtype, in.shape());
  for_each_matrix(in.shape(), [&](const Shape& position) {
    Array to = matrix_at(out, position);
    copy_items(lapack_cholesky(matrix_at(in, position), context.memory()), to);
  });
  context.set(std::move(out));
}
constexpr KernelRow kCholeskyStack{"cholesky_stack", run_cholesky_stack};

std::vector<Meta> infer_cholesky(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, true, call.prefix());
  return {{factor_dtype(input.dtype, call.prefix()), input.shape}};
}

TileResult tile_cholesky(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const DType dtype = context.output().dtype;
  check_matrix(context.input_meta(0), true, "[cholesky] ");
  if (context.output().shape.size() > 2) {
    const Tiled input = whole_matrices(context, 0);
    Tiled out{input.splits, {}};
    for (const ChunkRef chunk : input.chunks)
      out.chunks.push_back(context.emit(kCholeskyStack, {{"dtype", dtype}}, {chunk},
                                        {dtype, context.meta(chunk).shape}));
    return out;
  }
  const Splits& given = context.input(0).splits;
  const std::vector<Index> blocks =
      at_most(common_split(given[0], given[1]),
              block_length(context.input_meta(0).shape[0], context.options().threads));
  const Tiled a = rechunk(context, context.input(0), context.input_meta(0).dtype, {blocks, blocks});
  Tiled out{{blocks, blocks}, std::vector<ChunkRef>(a.chunks.size())};
  const auto count = static_cast<Index>(blocks.size());
  const auto at = [&](Index row, Index column) {
    return static_cast<std::size_t>(row * count + column);
  };
  const Attributes attributes = {{"dtype", dtype}, {"diagonal", false}};
  for (Index column = 0; column < count; ++column) {
    for (Index row = 0; row < count; ++row) {
      const Shape shape = extents_at(out.splits, {row, column});
      if (row < column) {
        out.chunks[at(row, column)] = emit_zeros(context, dtype, shape);
        continue;
      }
      std::vector<ChunkRef> inputs = {a.chunks[at(row, column)]};
      for (Index left = 0; left < column; ++left) {
        inputs.push_back(out.chunks[at(row, left)]);
        inputs.push_back(out.chunks[at(column, left)]);
      }
      if (row > column) inputs.push_back(out.chunks[at(column, column)]);
      out.chunks[at(row, column)] =
          context.emit(kBlock, row == column ? attributes.with("diagonal", true) : attributes,
                       std::move(inputs), {dtype, shape});
    }
  }
  return out;
}

constexpr OperatorRow kCholeskyRow{
    .name = "cholesky",
    .summary = "the lower triangular factor of a positive definite matrix",
    .family = Family::linalg,
    .infer = infer_cholesky,
    .tile = tile_cholesky};

}  // namespace

Tensor cholesky(const Tensor& a) { return apply_one(kCholeskyRow, {a}); }

void register_cholesky(Registry& registry) {
  registry.add(kCholeskyRow);
  registry.add(kBlock);
  registry.add(kCholeskyStack);
}

}  // namespace muster::engine
