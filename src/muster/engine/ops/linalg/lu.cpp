#include "muster/engine/ops/linalg/lu.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/lu_steps.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

/// Where row i of the factored matrix was before: the swaps of all panels, one after the other.
std::vector<Index> rows_before(Index rows, const std::vector<Array>& swaps, const Ints& starts) {
  std::vector<Index> before(static_cast<std::size_t>(rows));
  std::iota(before.begin(), before.end(), 0);
  for (std::size_t panel = 0; panel < swaps.size(); ++panel)
    for (Index i = 0; i < swaps[panel].size(); ++i)
      std::swap(
          before[static_cast<std::size_t>(starts[panel] + i)],
          before[static_cast<std::size_t>(starts[panel] + swaps[panel].as<std::int32_t>()[i])]);
  return before;
}

/// Columns `begin` to `begin + width` of the permutation; inputs: the swaps.
void run_permutation(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const auto rows = attributes.get<std::int64_t>("rows");
  const auto begin = attributes.get<std::int64_t>("begin");
  const auto width = attributes.get<std::int64_t>("width");
  const auto before = rows_before(rows, context.inputs(), attributes.get<Ints>("starts"));
  Array out = context.make(Type::f64, {rows, width});
  std::memset(out.mutable_data(), 0, out.nbytes());
  for (Index column = 0; column < width; ++column)
    out.mutable_as<double>()[before[static_cast<std::size_t>(begin + column)] * width + column] = 1;
  context.set(converted(out, attributes.get<DType>("dtype"), context.memory()));
}
constexpr KernelRow kPermutation{"lu_permutation", run_permutation};

/// One triangle of a panel whose diagonal begins at row `start`; `rows` of it.
void run_triangle(KernelContext& context) {
  const auto start = context.attributes().get<std::int64_t>("start");
  const auto rows = context.attributes().get<std::int64_t>("rows");
  const auto columns = context.attributes().get<std::int64_t>("columns");
  const bool upper = context.attributes().get<bool>("upper");
  Array out = copied(context.input(0).slice({0, 0}, {rows, columns}), context.memory());
  with_type(out.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      T* const items = out.mutable_as<T>();
      for (Index row = 0; row < rows; ++row) {
        const Index diagonal = std::clamp<Index>(row - start, 0, columns);
        if (upper) {
          std::fill_n(items + row * columns, diagonal, T{});
        } else {
          const Index first = row < start ? 0 : diagonal;
          std::fill(items + row * columns + first, items + (row + 1) * columns, T{});
          if (row >= start && row - start < columns) items[row * columns + row - start] = T{1};
        }
      }
    }
  });
  context.set(std::move(out));
}
constexpr KernelRow kTriangle{"lu_triangle", run_triangle};

std::vector<Meta> infer_lu(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, false, call.prefix());
  if (input.shape.size() != 2)
    throw ArrayError(Wrong::linalg,
                     fmt::format("{}takes one matrix: {}", call.prefix(), text(input.shape)));
  const DType dtype = factor_dtype(input.dtype, call.prefix());
  const Index m = input.shape[0];
  const Index n = input.shape[1];
  const Index k = m == kUnknown || n == kUnknown ? kUnknown : std::min(m, n);
  return {{DType(real_type(dtype.type)), {m, m}}, {dtype, {m, k}}, {dtype, {k, n}}};
}

TileResult tile_lu(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const DType dtype = context.output(1).dtype;
  const Index m = context.input_meta(0).shape[0];
  const Index k = std::min(m, context.input_meta(0).shape[1]);
  LuColumns steps(context, context.input(0), context.input_meta(0).dtype, dtype);
  const std::vector<ChunkRef> settled = steps.settled();

  Tiled p{{{m}, at_most({m}, block_length(m, context.options().threads))}, {}};
  Index begin = 0;
  const DType real(real_type(dtype.type));
  for (const Index width : p.splits[1]) {
    p.chunks.push_back(context.emit(kPermutation,
                                    {{"rows", m},
                                     {"begin", begin},
                                     {"width", width},
                                     {"starts", steps.starts()},
                                     {"dtype", real}},
                                    steps.swaps(), {real, {m, width}}));
    begin += width;
  }

  Tiled l{{{m}, {}}, {}};
  Tiled u{{{k}, steps.widths()}, {}};
  begin = 0;
  for (std::size_t panel = 0; panel < steps.widths().size(); ++panel) {
    const Index width = steps.widths()[panel];
    const Attributes attributes = {{"start", begin}, {"columns", width}};
    u.chunks.push_back(context.emit(kTriangle, attributes.with("upper", true).with("rows", k),
                                    {settled[panel]}, {dtype, {k, width}}));
    if (const Index own = std::min(width, k - begin); own > 0 || l.chunks.empty()) {
      l.splits[1].push_back(own);
      l.chunks.push_back(context.emit(
          kTriangle, attributes.with("upper", false).with("rows", m).with("columns", own),
          {settled[panel]}, {dtype, {m, own}}));
    }
    begin += width;
  }
  return std::vector<Tiled>{std::move(p), std::move(l), std::move(u)};
}

void check_regular(const Array& panel, Index start) {
  with_type(panel.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, Float16>)
      for (Index i = 0; i < panel.shape()[1]; ++i)
        if (*reinterpret_cast<const T*>(panel.data() + (start + i) * panel.strides()[0] +
                                        i * panel.strides()[1]) == T{})
          throw ArrayError(Wrong::linalg, "[solve] the matrix is singular");
  });
}

/// U⁻¹ · y; inputs: y, then the factored panels.
void run_back(KernelContext& context) {
  Memory& memory = context.memory();
  Array out = copied(context.input(0), memory);
  const Index rows = out.shape()[0];
  const Index columns = out.shape()[1];
  Index start = rows;
  for (std::size_t i = context.inputs().size(); i-- > 1;) {
    const Array& panel = context.input(i);
    const Index width = panel.shape()[1];
    start -= width;
    check_regular(panel, start);
    Array own = out.slice({start, 0}, {width, columns});
    solve_left(panel.slice({start, 0}, {width, width}), Triangle::upper, Diagonal::stored, own,
               memory);
    if (start > 0)
      add_product(out.dtype().type, matrix_of(panel.slice({0, 0}, {start, width})), matrix_of(own),
                  out.mutable_data(), columns, Sign::minus, memory);
  }
  if (context.attributes().get<bool>("vector", false)) out = out.reshaped(memory, {rows});
  context.set(std::move(out));
}
constexpr KernelRow kBack{"lu_back", run_back};

/// Columns `begin` to `begin + width` of an identity.
constexpr KernelRow kIdentity{
    "identity_columns", [](KernelContext& context) {
      const Attributes& attributes = context.attributes();
      const auto rows = attributes.get<std::int64_t>("rows");
      const auto begin = attributes.get<std::int64_t>("begin");
      const auto width = attributes.get<std::int64_t>("width");
      Array out = context.make(Type::f64, {rows, width});
      std::memset(out.mutable_data(), 0, out.nbytes());
      for (Index i = 0; i < width && begin + i < rows; ++i)
        out.mutable_as<double>()[(begin + i) * width + i] = 1;
      context.set(converted(out, attributes.get<DType>("dtype"), context.memory()));
    }};

/// Each matrix of a stack solved by itself. Without a second input it is inverted.
void run_solve_stack(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  Memory& memory = context.memory();
  const Array a = converted(context.input(0), dtype, memory);
  const bool inverts = context.inputs().size() == 1;
  const Array b = inverts ? a : converted(context.input(1), dtype, memory);
  Shape shape = b.shape();
  Array out = context.make(dtype, shape);
  const Index n = a.shape().back();
  for_each_matrix(shape, [&](const Shape& position) {
    const LuFactors factors = lapack_lu(matrix_at(a, position), memory);
    if (n > 0) check_regular(factors.factors, 0);
    Array to = matrix_at(out, position);
    const Index columns = shape.back();
    const auto before = rows_before(n, {factors.swaps}, {0});
    Array right(memory, dtype, {n, columns});
    const auto size = static_cast<Index>(right.item_size());
    if (inverts) std::memset(right.mutable_data(), 0, right.nbytes());
    for (Index row = 0; row < n; ++row) {
      const Index from = before[static_cast<std::size_t>(row)];
      Array target = right.slice({row, 0}, {1, columns});
      if (inverts) {
        const Scalar one = Scalar(1.0).cast(dtype);
        std::memcpy(right.mutable_data() + (row * columns + from) * size, one.data(),
                    right.item_size());
      } else {
        copy_items(matrix_at(b, position).slice({from, 0}, {1, columns}), target);
      }
    }
    solve_left(factors.factors, Triangle::lower, Diagonal::unit, right, memory);
    solve_left(factors.factors, Triangle::upper, Diagonal::stored, right, memory);
    copy_items(right, to);
  });
  context.set(std::move(out));
}
constexpr KernelRow kSolveStack{"solve_stack", run_solve_stack};

std::vector<Meta> infer_solve(const Call& call) {
  const Meta a = call.inputs[0].meta();
  check_matrix(a, true, call.prefix());
  if (call.inputs.size() == 1) return {{factor_dtype(a.dtype, call.prefix()), a.shape}};
  const Meta b = call.inputs[1].meta();
  const auto both = promote(factor_dtype(a.dtype, call.prefix()), b.dtype);
  if (!both) wrong_type(fmt::format("{}is not defined for {}", call.prefix(), name(b.dtype)));
  const bool vector = b.shape.size() == 1;
  if (!vector && b.shape.size() != a.shape.size())
    wrong_value(fmt::format("{}the right-hand side needs {} axes: shapes {} and {}", call.prefix(),
                            a.shape.size(), text(a.shape), text(b.shape)));
  if (vector && a.shape.size() > 2)
    wrong_value(fmt::format("{}stacks of matrices need stacks of right-hand sides: {} and {}",
                            call.prefix(), text(a.shape), text(b.shape)));
  const Index rows = vector ? b.shape[0] : b.shape[b.shape.size() - 2];
  if (rows != a.shape.back() && rows != kUnknown && a.shape.back() != kUnknown)
    wrong_value(fmt::format("{}sizes differ: {} and {}, of shapes {} and {}", call.prefix(),
                            a.shape.back(), rows, text(a.shape), text(b.shape)));
  return {{*both, b.shape}};
}

TileResult tile_stack(TileContext& context) {
  const DType dtype = context.output().dtype;
  Tiled a = whole_matrices(context, 0);
  Tiled out{a.splits, {}};
  Tiled b;
  if (context.inputs() > 1) {
    b = whole_matrices(context, 1);
    Splits target = b.splits;
    for (std::size_t axis = 0; axis + 2 < target.size(); ++axis) target[axis] = a.splits[axis];
    if (shape_of(target) != shape_of(b.splits))
      wrong_value(fmt::format("[solve] stacks differ: {} and {}", text(shape_of(a.splits)),
                              text(shape_of(b.splits))));
    b = rechunk(context, b, context.input_meta(1).dtype, target);
    out.splits = b.splits;
  }
  for (std::size_t i = 0; i < a.chunks.size(); ++i) {
    std::vector<ChunkRef> inputs = {a.chunks[i]};
    if (context.inputs() > 1) inputs.push_back(b.chunks[i]);
    const Shape shape = context.meta(inputs.back()).shape;
    out.chunks.push_back(
        context.emit(kSolveStack, {{"dtype", dtype}}, std::move(inputs), {dtype, shape}));
  }
  return out;
}

TileResult tile_solve(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  check_matrix(context.input_meta(0), true, "[solve] ");
  if (context.input_meta(0).shape.size() > 2) return tile_stack(context);
  const DType dtype = context.output().dtype;
  const Index n = context.input_meta(0).shape[0];
  LuColumns steps(context, context.input(0), context.input_meta(0).dtype, dtype);
  const bool inverts = context.inputs() == 1;
  const bool vector = !inverts && context.input_meta(1).shape.size() == 1;
  const Index length = block_length(n, context.options().threads);
  Tiled out{{{n}}, {}};
  Tiled right;
  if (!inverts) {
    Splits target = {{n}};
    if (!vector) target.push_back(at_most(context.input(1).splits[1], length));
    right = rechunk(context, context.input(1), context.input_meta(1).dtype, target);
    out.splits = target;
  } else {
    out.splits.push_back(steps.widths());
  }
  Index begin = 0;
  for (std::size_t i = 0; i < (vector ? 1 : out.splits[1].size()); ++i) {
    const Index width = vector ? 1 : out.splits[1][i];
    ChunkRef columns =
        inverts ? context.emit(kIdentity,
                               {{"rows", n}, {"begin", begin}, {"width", width}, {"dtype", dtype}},
                               {}, {dtype, {n, width}})
                : right.chunks[i];
    std::vector<ChunkRef> inputs = {steps.updated(columns, {n, width})};
    if (n > 0)
      inputs.insert(inputs.end(), steps.factors().begin(), steps.factors().end());
    else
      inputs = {context.emit(kIdentity,
                             {{"rows", n}, {"begin", begin}, {"width", width}, {"dtype", dtype}},
                             {}, {dtype, {n, width}})};
    out.chunks.push_back(context.emit(kBack, {{"vector", vector}}, std::move(inputs),
                                      {dtype, vector ? Shape{n} : Shape{n, width}}));
    begin += width;
  }
  return out;
}

constexpr OperatorRow kLu{.name = "lu",
                          .summary = "a permutation, a unit lower and an upper triangle",
                          .family = Family::linalg,
                          .infer = infer_lu,
                          .tile = tile_lu};
constexpr OperatorRow kSolve{.name = "solve",
                             .summary = "x with a · x = b",
                             .family = Family::linalg,
                             .infer = infer_solve,
                             .tile = tile_solve};
constexpr OperatorRow kInv{.name = "inv",
                           .summary = "the inverse of a matrix",
                           .family = Family::linalg,
                           .infer = infer_solve,
                           .tile = tile_solve};

}  // namespace

std::vector<Tensor> lu(const Tensor& a) { return apply(kLu, {a}); }
Tensor solve(const Tensor& a, const Tensor& b) { return apply_one(kSolve, {a, b}); }
Tensor inv(const Tensor& a) { return apply_one(kInv, {a}); }

void register_lu(Registry& registry) {
  for (const OperatorRow* row : {&kLu, &kSolve, &kInv}) registry.add(*row);
  for (const KernelRow* row : {&kPermutation, &kTriangle, &kBack, &kIdentity, &kSolveStack})
    registry.add(*row);
  register_lu_steps(registry);
}

}  // namespace muster::engine
