#include "muster/engine/ops/creation/diagonal.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/creation/full.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// A piece of a diagonal within a chunk: a view.
constexpr KernelRow kPieceKernel{
    "diagonal", [](KernelContext& context) {
      const Array& in = context.input(0);
      const auto row = context.attributes().get<std::int64_t>("row");
      const auto column = context.attributes().get<std::int64_t>("column");
      const auto count = context.attributes().get<std::int64_t>("count");
      const std::size_t outer = in.ndim() - 2;
      Shape shape(in.shape().begin(), in.shape().end() - 2);
      Strides strides(in.strides().begin(), in.strides().end() - 2);
      shape.push_back(count);
      strides.push_back(in.strides()[outer] + in.strides()[outer + 1]);
      const Index offset = row * in.strides()[outer] + column * in.strides()[outer + 1];
      context.set(in.view(std::move(shape), std::move(strides), count == 0 ? 0 : offset));
    }};

Index diagonal_length(Index rows, Index columns, Index offset) {
  return std::max<Index>(
      0, offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns));
}

std::vector<Meta> infer_diagonal(const Call& call) {
  const Tensor& x = call.inputs.front();
  Shape shape = x.shape();
  if (shape.size() < 2)
    wrong_value(
        fmt::format("{}needs at least two axes, the shape is {}", call.prefix(), text(shape)));
  const Index columns = shape.back();
  shape.pop_back();
  const Index rows = shape.back();
  shape.back() =
      rows == kUnknown || columns == kUnknown
          ? kUnknown
          : diagonal_length(rows, columns, call.attributes.get<std::int64_t>("offset", 0));
  return {{x.dtype(), shape}};
}

/// A piece of the diagonal: the chunk it lies in, where in it, and how long it is.
struct Piece {
  Index row_chunk, column_chunk, row, column, count;
};

std::vector<Piece> pieces_of(const std::vector<Index>& row_split,
                             const std::vector<Index>& column_split, Index offset, Index length) {
  std::vector<Piece> pieces;
  Index row = std::max<Index>(0, -offset);
  Index column = std::max<Index>(0, offset);
  Index row_chunk = 0;
  Index column_chunk = 0;
  const auto move = [](Index& at, Index& chunk, const std::vector<Index>& split) {
    while (chunk + 1 < static_cast<Index>(split.size()) &&
           at >= split[static_cast<std::size_t>(chunk)])
      at -= split[static_cast<std::size_t>(chunk++)];
  };
  while (length > 0) {
    move(row, row_chunk, row_split);
    move(column, column_chunk, column_split);
    const Index count = std::min({length, row_split[static_cast<std::size_t>(row_chunk)] - row,
                                  column_split[static_cast<std::size_t>(column_chunk)] - column});
    pieces.push_back({row_chunk, column_chunk, row, column, count});
    row += count;
    column += count;
    length -= count;
  }
  if (pieces.empty()) pieces.push_back({0, 0, 0, 0, 0});
  return pieces;
}

TileResult tile_diagonal(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const DType dtype = context.input_meta(0).dtype;
  const std::size_t rows = in.splits.size() - 2;
  const auto offset = context.attributes().get<std::int64_t>("offset", 0);
  const Shape shape = context.input_meta(0).shape;
  const auto pieces = pieces_of(in.splits[rows], in.splits[rows + 1], offset,
                                diagonal_length(shape[rows], shape[rows + 1], offset));
  Tiled out{Splits(in.splits.begin(), in.splits.end() - 2), {}};
  out.splits.emplace_back();
  for (const Piece& piece : pieces) out.splits.back().push_back(piece.count);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const Piece& piece = pieces[static_cast<std::size_t>(position.back())];
    Shape from = position;
    from.back() = piece.row_chunk;
    from.push_back(piece.column_chunk);
    out.chunks.push_back(context.emit(
        kPieceKernel, {{"row", piece.row}, {"column", piece.column}, {"count", piece.count}},
        {in.at(from)}, {dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kDiagonal{.name = "diagonal",
                                .summary = "the items on a diagonal of the last two axes",
                                .family = Family::creation,
                                .infer = infer_diagonal,
                                .tile = tile_diagonal};

/// A square block with the chunk on its main diagonal.
constexpr KernelRow kBlockKernel{"diag", [](KernelContext& context) {
                                   const Array& in = context.input(0);
                                   Array out = context.make(in.dtype(), {in.size(), in.size()});
                                   std::memset(out.mutable_data(), 0, out.nbytes());
                                   Array on =
                                       out.view({in.size()}, {out.strides()[0] + out.strides()[1]});
                                   copy_items(in, on);
                                   context.set(std::move(out));
                                 }};

TileResult tile_diag(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const DType dtype = context.output().dtype;
  const auto k = context.attributes().get<std::int64_t>("k", 0);
  Tiled out{{in.splits[0], in.splits[0]}, {}};
  // The vector's chunks lie on a diagonal of blocks; a band of zeros moves it.
  if (k > 0) {
    out.splits[0].push_back(k);
    out.splits[1].insert(out.splits[1].begin(), k);
  } else if (k < 0) {
    out.splits[0].insert(out.splits[0].begin(), -k);
    out.splits[1].push_back(-k);
  }
  const Scalar zero = Scalar(false).cast(dtype);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    const Index block = position[0] - (k < 0 ? 1 : 0);
    const Shape extents = extents_at(out.splits, position);
    if (block == position[1] - (k > 0 ? 1 : 0) && block >= 0 &&
        block < static_cast<Index>(in.chunks.size()))
      out.chunks.push_back(context.emit(
          kBlockKernel, {}, {in.chunks[static_cast<std::size_t>(block)]}, {dtype, extents}));
    else
      out.chunks.push_back(context.emit(full_kernel(), {{"value", zero}, {"shape", Ints(extents)}},
                                        {}, {dtype, extents}));
  });
  return out;
}

constexpr OperatorRow kFromVector{.name = "diag_from_vector",
                                  .summary = "a square matrix with a vector on a diagonal",
                                  .family = Family::creation,
                                  .infer = [](const Call& call) -> std::vector<Meta> {
                                    const Tensor& x = call.inputs.front();
                                    check_vector(call);
                                    const auto k = call.attributes.get<std::int64_t>("k", 0);
                                    const Index size = x.shape().front();
                                    const Index extent =
                                        size == kUnknown ? kUnknown : size + std::abs(k);
                                    return {{x.dtype(), {extent, extent}}};
                                  },
                                  .tile = tile_diag};

constexpr OperatorRow kDiag{
    .name = "diag",
    .summary = "a matrix with a vector on a diagonal, or the diagonal of a matrix",
    .family = Family::creation,
    .expand = [](const Call& call) -> std::vector<Tensor> {
      const Tensor& x = call.inputs.front();
      const auto k = call.attributes.get<std::int64_t>("k", 0);
      if (x.ndim() == 1) return apply(kFromVector, {x}, {{"k", k}});
      if (x.ndim() != 2)
        wrong_value(fmt::format("{}needs one or two axes, the shape is {}", call.prefix(),
                                text(x.shape())));
      return apply(kDiagonal, {x}, {{"offset", k}});
    }};

}  // namespace

void register_diagonals(Registry& registry) {
  registry.add(kDiagonal);
  registry.add(kPieceKernel);
  registry.add(kFromVector);
  registry.add(kBlockKernel);
  registry.add(kDiag);
}

Tensor diagonal(const Tensor& x, Index offset) {
  return apply_one(kDiagonal, {x}, {{"offset", offset}});
}

Tensor diag(const Tensor& x, Index k) { return apply_one(kDiag, {x}, {{"k", k}}); }

}  // namespace muster::engine
