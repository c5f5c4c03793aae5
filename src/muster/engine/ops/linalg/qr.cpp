#include "muster/engine/ops/linalg/qr.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Columns `begin` to `begin + width` of an identity, in Fortran order.
Array identity_columns(Memory& memory, DType dtype, Index rows, Index begin, Index width) {
  Array out(memory, dtype, {rows, width}, Order::fortran);
  std::memset(out.mutable_data(), 0, out.nbytes());
  const Scalar one = Scalar(1.0).cast(dtype);
  for (Index i = 0; i < width && begin + i < rows; ++i)
    std::memcpy(
        out.mutable_data() + static_cast<std::size_t>(i * rows + begin + i) * out.item_size(),
        one.data(), out.item_size());
  return out;
}

/// The upper triangle of the first rows of a matrix.
Array upper_of(const Array& array, Index rows, Memory& memory) {
  Array out(memory, array.dtype(), {rows, array.shape()[1]});
  copy_items(array.slice({0, 0}, out.shape()), out);
  for (Index row = 1; row < rows; ++row)
    std::memset(
        out.mutable_data() + static_cast<std::size_t>(row * out.shape()[1]) * out.item_size(), 0,
        static_cast<std::size_t>(std::min(row, out.shape()[1])) * out.item_size());
  return out;
}

struct Factors {
  Array q;
  Array r;
};

Factors factors_of(const Array& a, Index q_columns, bool with_q, Memory& memory) {
  const Reflectors reflectors = lapack_qr(a, memory);
  Factors out;
  if (with_q) {
    out.q = identity_columns(memory, a.dtype(), a.shape()[0], 0, q_columns);
    lapack_apply_q(reflectors.factors, reflectors.scales, Apply::q, out.q, memory);
  }
  out.r = upper_of(reflectors.factors, std::min(q_columns, a.shape()[0]), memory);
  return out;
}

/// Inputs one below the other; outputs q (if `with_q`) and r.
void run_leaf(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool with_q = context.attributes().get<bool>("with_q");
  Memory& memory = context.memory();
  const Index columns = context.input(0).shape()[1];
  Index rows = 0;
  for (const Array& input : context.inputs()) rows += input.shape()[0];
  Array whole(memory, dtype, {rows, columns}, Order::fortran);
  Index at = 0;
  for (const Array& input : context.inputs()) {
    Array to = whole.slice({at, 0}, input.shape());
    copy_items(converted(input, dtype, memory), to);
    at += input.shape()[0];
  }
  Factors factors;
  if (with_q && columns <= std::min(rows, kThinColumns)) {
    auto [q, r] = lapack_thin_qr(std::move(whole), memory);
    factors = {std::move(q), std::move(r)};
  } else {
    factors = factors_of(whole, std::min(rows, columns), with_q, memory);
  }
  if (with_q) context.set(0, std::move(factors.q));
  context.set(with_q ? 1 : 0, std::move(factors.r));
}
constexpr KernelRow kLeaf{"qr_leaf", run_leaf};

Array product(const Array& left, const Array& right, Memory& memory) {
  Array out(memory, left.dtype(), {left.shape()[0], right.shape()[1]});
  std::memset(out.mutable_data(), 0, out.nbytes());
  add_product(out.dtype().type, matrix_of(left), matrix_of(right), out.mutable_data(),
              right.shape()[1], Sign::plus, memory);
  return out;
}

/// The first input times rows of the second, from `begin`, times the third if there is one: what
/// is small is multiplied first.
void run_join(KernelContext& context) {
  const auto begin = context.attributes().get<std::int64_t>("begin");
  const Array& left = context.input(0);
  Array right = context.input(1).slice({begin, 0}, {left.shape()[1], context.input(1).shape()[1]});
  if (context.inputs().size() > 2) right = product(right, context.input(2), context.memory());
  context.set(product(left, right, context.memory()));
}
constexpr KernelRow kJoin{"qr_join", run_join};

/// Outputs: columns with what is below row `start` reflected to a triangle, and the scales.
void run_qr_panel(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const auto start = context.attributes().get<std::int64_t>("start");
  Array out = fortran_copy(converted(context.input(0), dtype, context.memory()), context.memory());
  Array lower = out.slice({start, 0}, {out.shape()[0] - start, out.shape()[1]});
  Reflectors reflectors = lapack_qr(lower, context.memory());
  copy_items(reflectors.factors, lower);
  context.set(0, std::move(out));
  context.set(1, std::move(reflectors.scales));
}
constexpr KernelRow kQrPanel{"qr_panel", run_qr_panel};

void apply_panel(const Array& panel, const Array& scales, Index start, Apply what, Array& to,
                 Memory& memory) {
  const Index rows = panel.shape()[0] - start;
  Array below = to.slice({start, 0}, {rows, to.shape()[1]});
  lapack_apply_q(panel.slice({start, 0}, {rows, panel.shape()[1]}), scales, what, below, memory);
}

/// Inputs: columns, a panel to their left, its scales.
void run_qr_update(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  Array out = fortran_copy(converted(context.input(0), dtype, context.memory()), context.memory());
  apply_panel(context.input(1), context.input(2), context.attributes().get<std::int64_t>("start"),
              Apply::adjoint, out, context.memory());
  context.set(std::move(out));
}
constexpr KernelRow kQrUpdate{"qr_update", run_qr_update};

/// Columns of Q; inputs: panels and scales by turns.
void run_q(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto starts = attributes.get<Ints>("starts");
  Array out = identity_columns(
      context.memory(), attributes.get<DType>("dtype"), attributes.get<std::int64_t>("rows"),
      attributes.get<std::int64_t>("begin"), attributes.get<std::int64_t>("width"));
  for (std::size_t panel = starts.size(); panel-- > 0;)
    apply_panel(context.input(2 * panel), context.input(2 * panel + 1), starts[panel], Apply::q,
                out, context.memory());
  context.set(std::move(out));
}
constexpr KernelRow kQ{"qr_q", run_q};

/// Rows of R from a panel whose diagonal begins at row `start`.
void run_r(KernelContext& context) {
  const auto start = context.attributes().get<std::int64_t>("start");
  const auto rows = context.attributes().get<std::int64_t>("rows");
  const Index columns = context.input(0).shape()[1];
  Array out = copied(context.input(0).slice({0, 0}, {rows, columns}), context.memory());
  for (Index row = start + 1; row < rows; ++row)
    std::memset(out.mutable_data() + static_cast<std::size_t>(row * columns) * out.item_size(), 0,
                static_cast<std::size_t>(std::min(row - start, columns)) * out.item_size());
  context.set(std::move(out));
}
constexpr KernelRow kR{"qr_r", run_r};

void run_qr_stack(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool with_q = context.outputs().size() == 2;
  const bool complete = context.attributes().get<bool>("complete");
  const Array in = converted(context.input(0), dtype, context.memory());
  const Index m = in.shape()[in.ndim() - 2];
  const Index n = in.shape().back();
  const Index k = complete ? m : std::min(m, n);
  Shape q_shape = in.shape();
  q_shape.back() = k;
  Shape r_shape = in.shape();
  r_shape[r_shape.size() - 2] = k;
  Array q = context.make(dtype, q_shape);
  Array r = context.make(dtype, r_shape);
  for_each_matrix(in.shape(), [&](const Shape& position) {
    const Factors factors = factors_of(matrix_at(in, position), k, with_q, context.memory());
    Array to = matrix_at(r, position);
    copy_items(factors.r, to);
    if (!with_q) return;
    to = matrix_at(q, position);
    copy_items(factors.q, to);
  });
  if (with_q) context.set(0, std::move(q));
  context.set(with_q ? 1 : 0, std::move(r));
}
constexpr KernelRow kQrStack{"qr_stack", run_qr_stack};

struct Wanted {
  bool with_q;
  bool complete;
};
Wanted wanted(const Attributes& attributes, const std::string& prefix) {
  const auto mode = attributes.get<std::string>("mode", "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r")
    wrong_value(
        fmt::format("{}mode is '{}', but must be 'reduced', 'complete' or 'r'", prefix, mode));
  return {mode != "r", mode == "complete"};
}

std::vector<Meta> infer_qr(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, false, call.prefix());
  const DType dtype = factor_dtype(input.dtype, call.prefix());
  const Wanted want = wanted(call.attributes, call.prefix());
  const Index m = input.shape[input.shape.size() - 2];
  const Index n = input.shape.back();
  const Index k = want.complete ? m : m == kUnknown || n == kUnknown ? kUnknown : std::min(m, n);
  Shape q = input.shape;
  q.back() = k;
  Shape r = input.shape;
  r[r.size() - 2] = k;
  if (!want.with_q) return {{dtype, r}};
  return {{dtype, q}, {dtype, r}};
}

TileResult tile_stack(TileContext& context, const Wanted& want) {
  const Tiled input = whole_matrices(context, 0);
  std::vector<Tiled> outs(context.outputs(), Tiled{input.splits, {}});
  const Shape shape = context.input_meta(0).shape;
  const Index k =
      want.complete ? shape[shape.size() - 2] : std::min(shape[shape.size() - 2], shape.back());
  if (want.with_q) outs[0].splits.back() = {k};
  outs.back().splits[shape.size() - 2] = {k};
  for (const ChunkRef chunk : input.chunks) {
    std::vector<Meta> metas;
    for (std::size_t i = 0; i < outs.size(); ++i) {
      Shape own = context.meta(chunk).shape;
      own[want.with_q && i == 0 ? own.size() - 1 : own.size() - 2] = k;
      metas.push_back({context.output().dtype, own});
    }
    const std::uint32_t task = context.emit_many(
        kQrStack, {{"dtype", context.output().dtype}, {"complete", want.complete}}, {chunk}, metas);
    for (std::uint32_t i = 0; i < outs.size(); ++i) outs[i].chunks.push_back({task, i});
  }
  return outs;
}

/// Panels of columns, as in LuColumns.
TileResult tile_panels(TileContext& context, const Wanted& want) {
  const DType dtype = context.output().dtype;
  const Index m = context.input_meta(0).shape[0];
  const Index n = context.input_meta(0).shape[1];
  const Index k = want.complete ? m : std::min(m, n);
  const std::vector<Index> widths =
      at_most(context.input(0).splits[1], block_length(n, context.options().threads));
  std::vector<ChunkRef> columns =
      rechunk(context, context.input(0), context.input_meta(0).dtype, {{m}, widths}).chunks;
  std::vector<ChunkRef> panels;
  Ints starts;
  Tiled r{{{k}, widths}, {}};
  Index start = 0;
  for (std::size_t panel = 0; panel < widths.size(); ++panel) {
    const Attributes attributes = {{"dtype", dtype}, {"start", start}};
    if (start < m && widths[panel] > 0) {
      const Index count = std::min(widths[panel], m - start);
      const std::uint32_t task = context.emit_many(kQrPanel, attributes, {columns[panel]},
                                                   {{dtype, {m, widths[panel]}}, {dtype, {count}}});
      columns[panel] = {task, 0};
      panels.push_back({task, 0});
      panels.push_back({task, 1});
      starts.push_back(start);
      for (std::size_t right = panel + 1; right < widths.size(); ++right)
        columns[right] = context.emit(kQrUpdate, attributes, {columns[right], {task, 0}, {task, 1}},
                                      {dtype, {m, widths[right]}});
    }
    r.chunks.push_back(context.emit(kR, {{"start", start}, {"rows", k}}, {columns[panel]},
                                    {dtype, {k, widths[panel]}}));
    start += widths[panel];
  }
  if (!want.with_q) return r;
  Tiled q{{{m}, at_most({k}, block_length(k, context.options().threads))}, {}};
  Index begin = 0;
  for (const Index width : q.splits[1]) {
    q.chunks.push_back(context.emit(
        kQ, {{"dtype", dtype}, {"starts", starts}, {"rows", m}, {"begin", begin}, {"width", width}},
        panels, {dtype, {m, width}}));
    begin += width;
  }
  return std::vector<Tiled>{std::move(q), std::move(r)};
}

TileResult tile_qr(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Wanted want = wanted(context.attributes(), "[qr] ");
  const Shape shape = context.input_meta(0).shape;
  if (shape.size() > 2 || shape[0] == 0 || shape[1] == 0) return tile_stack(context, want);
  if (want.complete || shape[0] < 2 * shape[1]) return tile_panels(context, want);
  const TallQr tall = tall_qr(context, context.input(0), context.input_meta(0).dtype,
                              context.output().dtype, want.with_q);
  Tiled r{{{shape[1]}, {shape[1]}}, {tall.r}};
  if (!want.with_q) return r;
  return std::vector<Tiled>{tall_q(context, tall), std::move(r)};
}

constexpr OperatorRow kQrRow{.name = "qr",
                             .summary = "an orthogonal and an upper triangular factor",
                             .family = Family::linalg,
                             .infer = infer_qr,
                             .tile = tile_qr};

/// Rows of pieces: a few for each thread, none with fewer rows than twice the columns.
std::vector<Index> tall_pieces(const TileContext& context, const Tiled& a, DType dtype) {
  const Index m = shape_of(a.splits)[0];
  const Index n = shape_of(a.splits)[1];
  const auto pieces = static_cast<Index>(4 * std::max<std::size_t>(1, context.options().threads));
  const auto room = static_cast<Index>(context.options().chunk_store_limit) /
                    (n * static_cast<Index>(item_size(dtype)));
  const Index length =
      std::max(2 * n, std::min((m + pieces - 1) / pieces, std::max<Index>(room, 1)));
  const bool fine = std::all_of(a.splits[0].begin(), a.splits[0].end(),
                                [&](Index extent) { return extent >= 2 * n; });
  return fine ? at_most(a.splits[0], length) : even_split(m, length);
}

}  // namespace

TallQr tall_qr(TileContext& context, const Tiled& a, DType from, DType dtype, bool with_q) {
  const Index n = shape_of(a.splits)[1];
  MUSTER_ASSERT(n > 0 && shape_of(a.splits)[0] >= 2 * n, "tall matrices have rows enough");
  const std::vector<Index> pieces = tall_pieces(context, a, dtype);
  const Tiled rows = rechunk(context, a, from, {pieces, {n}});
  const Attributes attributes = {{"dtype", dtype}, {"with_q", with_q}};
  const auto leaf = [&](std::vector<ChunkRef> inputs, Index height) {
    const Index k = std::min(height, n);
    std::vector<Meta> metas = {{dtype, {k, n}}};
    if (with_q) metas.insert(metas.begin(), {dtype, {height, k}});
    return context.emit_many(kLeaf, attributes, std::move(inputs), std::move(metas));
  };
  const std::uint32_t last = with_q ? 1 : 0;
  std::vector<std::uint32_t> leaves;
  std::vector<ChunkRef> rest;
  Index height = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    leaves.push_back(leaf({rows.chunks[i]}, pieces[i]));
    rest.push_back({leaves.back(), last});
    height += std::min(pieces[i], n);
  }
  std::vector<ChunkRef> qs;
  for (const std::uint32_t task : leaves) qs.push_back({task, 0});
  if (leaves.size() == 1) return {pieces, std::move(qs), std::nullopt, {leaves.front(), last}};
  const std::uint32_t top = leaf(rest, height);
  return {pieces, std::move(qs), ChunkRef{top, 0}, {top, last}};
}

Tiled tall_q(TileContext& context, const TallQr& tall, std::optional<ChunkRef> times) {
  const Meta r = context.meta(tall.r);
  const Index n = r.shape[1];
  Tiled out{{tall.pieces, {n}}, {}};
  if (!tall.top && !times) {
    out.chunks = tall.leaves;
    return out;
  }
  Index begin = 0;
  for (std::size_t i = 0; i < tall.pieces.size(); ++i) {
    std::vector<ChunkRef> factors = {tall.leaves[i]};
    for (const auto& factor : {tall.top, times})
      if (factor) factors.push_back(*factor);
    out.chunks.push_back(context.emit(kJoin, {{"begin", begin}}, std::move(factors),
                                      {r.dtype, {tall.pieces[i], n}}));
    begin += std::min(tall.pieces[i], n);
  }
  return out;
}

std::vector<Tensor> qr(const Tensor& a, const std::string& mode) {
  return apply(kQrRow, {a}, {{"mode", mode}});
}

void register_qr(Registry& registry) {
  registry.add(kQrRow);
  for (const KernelRow* row : {&kLeaf, &kJoin, &kQrPanel, &kQrUpdate, &kQ, &kR, &kQrStack})
    registry.add(*row);
}

}  // namespace muster::engine
