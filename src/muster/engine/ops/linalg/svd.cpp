#include "muster/engine/ops/linalg/svd.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/converted.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/linalg/blocks.h"
#include "muster/engine/ops/linalg/lapack.h"
#include "muster/engine/ops/linalg/matrix.h"
#include "muster/engine/ops/linalg/qr.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

constexpr KernelRow kAdjoint{"adjoint", [](KernelContext& context) {
                               context.set(adjoint(context.input(0), context.memory()));
                             }};

/// Outputs u, s, vh, or s alone.
void run_svd(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool vectors = context.outputs().size() == 3;
  const bool full = context.attributes().get<bool>("full");
  Memory& memory = context.memory();
  const Array in = converted(context.input(0), dtype, memory);
  const Index m = in.shape()[in.ndim() - 2];
  const Index n = in.shape().back();
  const Index k = std::min(m, n);
  const Shape batch(in.shape().begin(), in.shape().end() - 2);
  const auto shaped = [&](std::initializer_list<Index> more) {
    Shape shape = batch;
    shape.insert(shape.end(), more);
    return shape;
  };
  Array u = context.make(dtype, shaped({m, vectors ? (full ? m : k) : 0}));
  Array s = context.make(DType(real_type(dtype.type)), shaped({k}));
  Array vh = context.make(dtype, shaped({vectors ? (full ? n : k) : 0, n}));
  for_each_position(batch, [&](const Shape& position) {
    const SvdFactors factors = lapack_svd(matrix_at(in, position), vectors, full, memory);
    Array to = vector_at(s, position);
    copy_items(factors.s, to);
    if (!vectors) return;
    to = matrix_at(u, position);
    copy_items(factors.u, to);
    to = matrix_at(vh, position);
    copy_items(factors.vh, to);
  });
  if (vectors) {
    context.set(0, std::move(u));
    context.set(2, std::move(vh));
  }
  context.set(vectors ? 1 : 0, std::move(s));
}
constexpr KernelRow kSvd{"svd", run_svd};

void run_eigh(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool lower = context.attributes().get<bool>("lower");
  const Array in = converted(context.input(0), dtype, context.memory());
  Array values =
      context.make(DType(real_type(dtype.type)), Shape(in.shape().begin(), in.shape().end() - 1));
  Array vectors = context.make(dtype, in.shape());
  for_each_matrix(in.shape(), [&](const Shape& position) {
    const EigenFactors factors = lapack_eigh(matrix_at(in, position), lower, context.memory());
    Array to = vector_at(values, position);
    copy_items(factors.values, to);
    to = matrix_at(vectors, position);
    copy_items(factors.vectors, to);
  });
  context.set(0, std::move(values));
  context.set(1, std::move(vectors));
}
constexpr KernelRow kEigh{"eigh", run_eigh};

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};

/// The sign and the logarithm of the absolute value of a determinant, from its LU factors.
template <class T>
void determinant(const LuFactors& factors, T& sign, typename RealOf<T>::Type& logarithm) {
  using Real = typename RealOf<T>::Type;
  sign = T{1};
  logarithm = 0;
  const Index n = factors.factors.shape()[0];
  for (Index i = 0; i < n; ++i) {
    const T item = factors.factors.as<T>()[i * (n + 1)];
    const Real size = std::abs(item);
    if (size == 0) {
      sign = T{0};
      logarithm = -std::numeric_limits<Real>::infinity();
      return;
    }
    sign *= item / size;
    if (factors.swaps.as<std::int32_t>()[i] != i) sign = -sign;
    logarithm += std::log(size);
  }
}

/// Outputs sign and logarithm, or the determinant alone.
void run_det(KernelContext& context) {
  const auto dtype = context.attributes().get<DType>("dtype");
  const bool logs = context.outputs().size() == 2;
  const Array in = converted(context.input(0), dtype, context.memory());
  const Shape batch(in.shape().begin(), in.shape().end() - 2);
  Array first = context.make(dtype, batch);
  Array second = context.make(DType(real_type(dtype.type)), batch);
  with_type(dtype.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      T* sign = first.mutable_as<T>();
      auto* logarithm = second.mutable_as<typename RealOf<T>::Type>();
      for_each_position(batch, [&](const Shape& position) {
        determinant<T>(lapack_lu(matrix_at(in, position), context.memory()), *sign, *logarithm);
        if (!logs) *sign = *sign * std::exp(*logarithm);
        ++sign;
        ++logarithm;
      });
    }
  });
  context.set(0, std::move(first));
  if (logs) context.set(1, std::move(second));
}
constexpr KernelRow kDet{"det", run_det};

/// One task per chunk of whole matrices; `shapes` gives what each result has in place of the last
/// two axes.
TileResult tile_whole(TileContext& context, const KernelRow& kernel, const Attributes& attributes,
                      const std::vector<Shape>& shapes) {
  const Tiled input = whole_matrices(context, 0);
  std::vector<Tiled> outs(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    outs[i].splits.assign(input.splits.begin(), input.splits.end() - 2);
    for (const Index extent : shapes[i]) outs[i].splits.push_back({extent});
  }
  for (const ChunkRef chunk : input.chunks) {
    std::vector<Meta> metas;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Shape own = context.meta(chunk).shape;
      own.resize(own.size() - 2);
      own.insert(own.end(), shapes[i].begin(), shapes[i].end());
      metas.push_back({context.output(i).dtype, own});
    }
    const std::uint32_t task = context.emit_many(kernel, attributes, {chunk}, metas);
    for (std::uint32_t i = 0; i < outs.size(); ++i) outs[i].chunks.push_back({task, i});
  }
  return outs;
}

std::vector<Meta> infer_svd(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, false, call.prefix());
  const DType dtype = factor_dtype(input.dtype, call.prefix());
  const bool full = call.attributes.get<bool>("full_matrices", false);
  const Index m = input.shape[input.shape.size() - 2];
  const Index n = input.shape.back();
  const Index k = m == kUnknown || n == kUnknown ? kUnknown : std::min(m, n);
  Shape u = input.shape;
  u.back() = full ? m : k;
  Shape vh = input.shape;
  vh[vh.size() - 2] = full ? n : k;
  Shape s(input.shape.begin(), input.shape.end() - 1);
  s.back() = k;
  const Meta values{DType(real_type(dtype.type)), s};
  if (call.row.name == "svdvals") return {values};
  return {{dtype, u}, values, {dtype, vh}};
}

TileResult tile_svd(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const bool vectors = context.outputs() == 3;
  const bool full = context.attributes().get<bool>("full_matrices", false);
  const DType from = context.input_meta(0).dtype;
  const DType dtype = factor_dtype(from, "[svd] ");
  const Attributes attributes = {{"dtype", dtype}, {"full", full}};
  const Shape shape = context.input_meta(0).shape;
  const Index m = shape[shape.size() - 2];
  const Index n = shape.back();
  const Index k = std::min(m, n);
  const bool long_one = k > 0 && std::max(m, n) >= 2 * k;
  if (shape.size() > 2 || full || !long_one)
    return tile_whole(context, kSvd, attributes,
                      vectors ? std::vector<Shape>{{m, full ? m : k}, {k}, {full ? n : k, n}}
                              : std::vector<Shape>{{k}});

  // Wide matrices are factored as their adjoints.
  const bool wide = n > m;
  Tiled a = context.input(0);
  const auto flipped = [&](const Tiled& tiled) {
    Tiled out{{tiled.splits[1], tiled.splits[0]}, {}};
    for_each_position(grid_of(out.splits), [&](const Shape& position) {
      const ChunkRef chunk = tiled.at({position[1], position[0]});
      out.chunks.push_back(context.emit(
          kAdjoint, {}, {chunk}, {context.meta(chunk).dtype, extents_at(out.splits, position)}));
    });
    return out;
  };
  if (wide) a = flipped(a);
  const TallQr tall = tall_qr(context, a, from, dtype, vectors);
  const DType real(real_type(dtype.type));
  std::vector<Meta> metas = {{real, {k}}};
  if (vectors) metas = {{dtype, {k, k}}, {real, {k}}, {dtype, {k, k}}};
  const std::uint32_t task = context.emit_many(kSvd, attributes, {tall.r}, metas);
  if (!vectors) return Tiled{{{k}}, {{task, 0}}};
  Tiled u = tall_q(context, tall, ChunkRef{task, 0});
  Tiled vh{{{k}, {k}}, {{task, 2}}};
  Tiled s{{{k}}, {{task, 1}}};
  if (wide) return std::vector<Tiled>{flipped(vh), std::move(s), flipped(u)};
  return std::vector<Tiled>{std::move(u), std::move(s), std::move(vh)};
}

std::vector<Meta> infer_eigh(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, true, call.prefix());
  const DType dtype = factor_dtype(input.dtype, call.prefix());
  return {{DType(real_type(dtype.type)), Shape(input.shape.begin(), input.shape.end() - 1)},
          {dtype, input.shape}};
}

TileResult tile_eigh(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  check_matrix(context.input_meta(0), true, "[eigh] ");
  const Index n = context.input_meta(0).shape.back();
  return tile_whole(context, kEigh,
                    {{"dtype", context.output(1).dtype},
                     {"lower", context.attributes().get<bool>("lower", true)}},
                    {{n}, {n, n}});
}

std::vector<Meta> infer_det(const Call& call) {
  const Meta input = call.inputs[0].meta();
  check_matrix(input, true, call.prefix());
  const DType dtype = factor_dtype(input.dtype, call.prefix());
  const Shape batch(input.shape.begin(), input.shape.end() - 2);
  if (call.row.name == "det") return {{dtype, batch}};
  return {{dtype, batch}, {DType(real_type(dtype.type)), batch}};
}

TileResult tile_det(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  check_matrix(context.input_meta(0), true, "[det] ");
  return tile_whole(context, kDet, {{"dtype", context.output().dtype}},
                    std::vector<Shape>(context.outputs()));
}

constexpr OperatorRow kSvdRow{.name = "svd",
                              .summary = "singular values and vectors",
                              .family = Family::linalg,
                              .infer = infer_svd,
                              .tile = tile_svd};
constexpr OperatorRow kSvdvals{.name = "svdvals",
                               .summary = "singular values",
                               .family = Family::linalg,
                               .infer = infer_svd,
                               .tile = tile_svd};
constexpr OperatorRow kEighRow{.name = "eigh",
                               .summary = "eigenvalues and eigenvectors of a Hermitian matrix",
                               .family = Family::linalg,
                               .infer = infer_eigh,
                               .tile = tile_eigh};
constexpr OperatorRow kSlogdet{.name = "slogdet",
                               .summary = "the sign and the logarithm of a determinant",
                               .family = Family::linalg,
                               .infer = infer_det,
                               .tile = tile_det};
constexpr OperatorRow kDetRow{.name = "det",
                              .summary = "the determinant",
                              .family = Family::linalg,
                              .infer = infer_det,
                              .tile = tile_det};

}  // namespace

std::vector<Tensor> svd(const Tensor& a, bool full) {
  return apply(kSvdRow, {a}, {{"full_matrices", full}});
}
Tensor svdvals(const Tensor& a) { return apply_one(kSvdvals, {a}); }
std::vector<Tensor> eigh(const Tensor& a, bool lower) {
  return apply(kEighRow, {a}, {{"lower", lower}});
}
std::vector<Tensor> slogdet(const Tensor& a) { return apply(kSlogdet, {a}); }
Tensor det(const Tensor& a) { return apply_one(kDetRow, {a}); }

void register_svd(Registry& registry) {
  for (const OperatorRow* row : {&kSvdRow, &kSvdvals, &kEighRow, &kSlogdet, &kDetRow})
    registry.add(*row);
  for (const KernelRow* row : {&kAdjoint, &kSvd, &kEigh, &kDet}) registry.add(*row);
}

}  // namespace muster::engine
