#include "muster/engine/ops/creation/triangle.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/create.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

namespace {

Array zero_chunk(KernelContext& context, DType dtype, const Shape& shape) {
  Array zero = context.make(dtype, {});
  std::memset(zero.mutable_data(), 0, zero.item_size());
  return zero.broadcast_to(shape);
}

void run_eye(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const Shape shape = attributes.get<Ints>("shape");
  const Ints first = attributes.get<Ints>("first");
  const auto dtype = attributes.get<DType>("dtype");
  // Row r of the chunk has its one in column r + shift.
  const Index shift = first[0] - first[1] + attributes.get<std::int64_t>("k");
  const Index begin = std::max<Index>(0, -shift);
  const Index end = std::min(shape[0], shape[1] - shift);
  if (begin >= end) return context.set(zero_chunk(context, dtype, shape));
  Array out = context.make(dtype, shape);
  std::memset(out.mutable_data(), 0, out.nbytes());
  const Scalar one = Scalar(true).cast(dtype);
  for (Index row = begin; row < end; ++row)
    std::memcpy(out.mutable_data() + row * out.strides()[0] + (row + shift) * out.strides()[1],
                one.data(), out.item_size());
  context.set(std::move(out));
}
constexpr KernelRow kEyeKernel{"eye", run_eye};

constexpr OperatorRow kEye{
    .name = "eye",
    .summary = "ones on a diagonal, zeros elsewhere",
    .family = Family::creation,
    .infer = [](const Call& call) -> std::vector<Meta> {
      const Shape shape = asked_shape(call);
      if (shape.size() != 2)
        wrong_value(fmt::format("{}is of two axes, not of shape {}", call.prefix(), text(shape)));
      return {{call.attributes.get<DType>("dtype"), shape}};
    },
    .tile = [](TileContext& context) -> TileResult { return create(context, kEyeKernel); }};

/// Keeps, in row r of each matrix, the columns up to r + shift (lower) or from there on.
void cut_matrix(Array& matrix, Index shift, bool lower) {
  const Index rows = matrix.shape()[0];
  const Index columns = matrix.shape()[1];
  const auto size = static_cast<Index>(matrix.item_size());
  for (Index row = 0; row < rows; ++row) {
    const Index kept = std::clamp<Index>(row + shift + (lower ? 1 : 0), 0, columns);
    const Index begin = lower ? kept : 0;
    const Index end = lower ? columns : kept;
    std::byte* const at = matrix.mutable_data() + row * matrix.strides()[0];
    if (end > begin)
      std::memset(at + begin * size, 0, static_cast<std::size_t>((end - begin) * size));
  }
}

void run_triangle(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const Array& in = context.input(0);
  const bool lower = attributes.get<bool>("lower");
  const auto shift = attributes.get<std::int64_t>("shift");
  const Index rows = in.shape()[in.ndim() - 2];
  const Index columns = in.shape()[in.ndim() - 1];
  // The shortest and the longest kept part of a row.
  const bool all = lower ? shift >= columns - 1 : shift + rows - 1 <= 0;
  const bool none = lower ? shift + rows - 1 < 0 : shift >= columns;
  if (all) return context.set(in);
  if (none) return context.set(zero_chunk(context, in.dtype(), in.shape()));
  Array out = context.make(in.dtype(), in.shape());
  copy_items(in, out);
  const Shape outer(in.shape().begin(), in.shape().end() - 2);
  for_each_position(outer, [&](const Shape& position) {
    Index offset = 0;
    for (std::size_t axis = 0; axis < outer.size(); ++axis)
      offset += position[axis] * out.strides()[axis];
    Array matrix = out.view({rows, columns},
                            {out.strides()[outer.size()], out.strides()[outer.size() + 1]}, offset);
    cut_matrix(matrix, shift, lower);
  });
  context.set(std::move(out));
}
constexpr KernelRow kTriangleKernel{"triangle", run_triangle};

TileResult tile_triangle(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const std::size_t rows = in.splits.size() - 2;
  const auto k = context.attributes().get<std::int64_t>("k", 0);
  const bool lower = context.row().name == "tril";
  Tiled out{in.splits, {}};
  const Starts start_of_chunk(in.splits);
  for_each_position(grid_of(in.splits), [&](const Shape& position) {
    const Shape first = start_of_chunk(position);
    const ChunkRef chunk = in.at(position);
    out.chunks.push_back(context.emit(
        kTriangleKernel, {{"lower", lower}, {"shift", first[rows] - first[rows + 1] + k}}, {chunk},
        context.meta(chunk)));
  });
  return out;
}

std::vector<Meta> infer_triangle(const Call& call) {
  if (call.inputs.front().ndim() < 2)
    wrong_value(fmt::format("{}needs at least two axes, the shape is {}", call.prefix(),
                            text(call.inputs.front().shape())));
  return {call.inputs.front().meta()};
}

constexpr OperatorRow kTril{.name = "tril",
                            .summary = "zeros above a diagonal",
                            .family = Family::creation,
                            .infer = infer_triangle,
                            .tile = tile_triangle};
constexpr OperatorRow kTriu{.name = "triu",
                            .summary = "zeros below a diagonal",
                            .family = Family::creation,
                            .infer = infer_triangle,
                            .tile = tile_triangle};

}  // namespace

void register_triangles(Registry& registry) {
  registry.add(kEye);
  registry.add(kEyeKernel);
  registry.add(kTril);
  registry.add(kTriu);
  registry.add(kTriangleKernel);
}

Tensor eye(Index rows, Index columns, Index k, DType dtype, Attribute::Value chunk_size) {
  return apply_one(kEye, {},
                   {{"shape", Ints{rows, columns}},
                    {"k", k},
                    {"dtype", dtype},
                    {"chunk_size", std::move(chunk_size)}});
}

Tensor tril(const Tensor& x, Index k) { return apply_one(kTril, {x}, {{"k", k}}); }
Tensor triu(const Tensor& x, Index k) { return apply_one(kTriu, {x}, {{"k", k}}); }

}  // namespace muster::engine
