#include "muster/engine/ops/linalg/blocks.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

DType factor_dtype(DType dtype, const std::string& prefix) {
  if (dtype.type == Type::f16 || is_time(dtype.type))
    wrong_type(fmt::format("{}is not defined for {}", prefix, name(dtype)));
  return is_inexact(dtype.type) ? dtype : DType(Type::f64);
}

void check_matrix(const Meta& meta, bool square, const std::string& prefix) {
  if (meta.shape.size() < 2)
    throw ArrayError(Wrong::linalg, fmt::format("{}needs a matrix, not a tensor of shape {}",
                                                prefix, text(meta.shape)));
  const Index rows = meta.shape[meta.shape.size() - 2];
  const Index columns = meta.shape.back();
  if (square && rows != columns && rows != kUnknown && columns != kUnknown)
    throw ArrayError(Wrong::linalg,
                     fmt::format("{}needs a square matrix: {}", prefix, text(meta.shape)));
}

Index block_length(Index extent, std::size_t threads) {
  const auto pieces = static_cast<Index>(4 * std::max<std::size_t>(threads, 1));
  return std::clamp<Index>((extent + pieces - 1) / pieces, 128, 1024);
}

std::vector<Index> at_most(const std::vector<Index>& extents, Index length) {
  std::vector<Index> out;
  for (const Index extent : extents) {
    // Pieces that are a little longer stay whole.
    const std::vector<Index> pieces =
        extent > length + length / 2 ? even_split(extent, length) : std::vector<Index>{extent};
    out.insert(out.end(), pieces.begin(), pieces.end());
  }
  return out;
}

ChunkRef emit_zeros(TileContext& context, DType dtype, const Shape& shape) {
  const KernelRow* const kernel = registry().find_kernel("full");
  MUSTER_ASSERT(kernel != nullptr, "there is a kernel that makes constants");
  return context.emit(*kernel, {{"value", Scalar(std::int64_t{0}).cast(dtype)}, {"shape", shape}},
                      {}, {dtype, shape});
}

Tiled whole_matrices(TileContext& context, std::size_t input) {
  Splits target = context.input(input).splits;
  for (std::size_t axis = target.size() - 2; axis < target.size(); ++axis)
    target[axis] = {context.input_meta(input).shape[axis]};
  return rechunk(context, context.input(input), context.input_meta(input).dtype, target);
}

Array matrix_at(const Array& stack, const Shape& position) {
  Index offset = 0;
  for (std::size_t axis = 0; axis < position.size(); ++axis)
    offset += position[axis] * stack.strides()[axis];
  const std::size_t rows = stack.ndim() - 2;
  return stack.view({stack.shape()[rows], stack.shape()[rows + 1]},
                    {stack.strides()[rows], stack.strides()[rows + 1]}, offset);
}

Array vector_at(const Array& stack, const Shape& position) {
  Index offset = 0;
  for (std::size_t axis = 0; axis < position.size(); ++axis)
    offset += position[axis] * stack.strides()[axis];
  return stack.view({stack.shape().back()}, {stack.strides().back()}, offset);
}

}  // namespace muster::engine
