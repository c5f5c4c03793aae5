#include "muster/engine/ops/linalg/products.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/linalg/contract.h"

namespace muster::engine {

namespace {

/// Labels for the axes of a tensor: consecutive from `first`.
Ints labels_from(std::int64_t first, std::size_t count) {
  Ints labels(count);
  std::iota(labels.begin(), labels.end(), first);
  return labels;
}

void check_two(const Call& call) {
  if (call.inputs.size() != 2)
    wrong_type(fmt::format("{}takes 2 inputs, not {}", call.prefix(), call.inputs.size()));
}

/// Sums over `axes_a` and `axes_b`; what is left of `a` comes first.
std::vector<Tensor> sum_over(const Call& call, const std::vector<int>& axes_a,
                             const std::vector<int>& axes_b) {
  const Tensor& a = call.inputs[0];
  const Tensor& b = call.inputs[1];
  const Shape shape_a = a.shape();
  const Shape shape_b = b.shape();
  const Ints labels_a = labels_from(0, shape_a.size());
  Ints labels_b = labels_from(static_cast<std::int64_t>(shape_a.size()), shape_b.size());
  Ints out;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    const auto left = static_cast<std::size_t>(axes_a[i]);
    const auto right = static_cast<std::size_t>(axes_b[i]);
    if (shape_a[left] != shape_b[right] && shape_a[left] != kUnknown && shape_b[right] != kUnknown)
      wrong_value(fmt::format("{}inner sizes differ: {} and {}, of shapes {} and {}", call.prefix(),
                              shape_a[left], shape_b[right], text(shape_a), text(shape_b)));
    labels_b[right] = labels_a[left];
  }
  for (const Ints* labels : {&labels_a, static_cast<const Ints*>(&labels_b)})
    for (std::size_t axis = 0; axis < labels->size(); ++axis) {
      const auto& axes = labels == &labels_a ? axes_a : axes_b;
      if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) == axes.end())
        out.push_back((*labels)[axis]);
    }
  return apply(
      "contract", {a, b},
      {{"a", labels_a}, {"b", labels_b}, {"out", out}, {"operation", std::string(call.row.name)}});
}

std::vector<Tensor> expand_dot(const Call& call) {
  check_two(call);
  const auto ndim_a = static_cast<int>(call.inputs[0].ndim());
  const auto ndim_b = static_cast<int>(call.inputs[1].ndim());
  if (ndim_a == 0 || ndim_b == 0) return sum_over(call, {}, {});
  return sum_over(call, {ndim_a - 1}, {std::max(0, ndim_b - 2)});
}

std::vector<Tensor> expand_inner(const Call& call) {
  check_two(call);
  const auto ndim_a = static_cast<int>(call.inputs[0].ndim());
  const auto ndim_b = static_cast<int>(call.inputs[1].ndim());
  if (ndim_a == 0 || ndim_b == 0) return sum_over(call, {}, {});
  return sum_over(call, {ndim_a - 1}, {ndim_b - 1});
}

/// NumPy flattens both; tensors of one shape go together axis by axis, which is the same sum.
std::vector<Tensor> expand_vdot(const Call& call) {
  check_two(call);
  Tensor a = call.inputs[0];
  Tensor b = call.inputs[1];
  if (is_complex(a.dtype().type)) a = apply_one("conjugate", {a});
  if (a.shape() != b.shape()) {
    if (a.size() != b.size())
      wrong_value(fmt::format("{}sizes differ: {} and {}", call.prefix(), text(a.shape()),
                              text(b.shape())));
    a = apply_one("reshape", {a}, {{"shape", Ints{-1}}});
    b = apply_one("reshape", {b}, {{"shape", Ints{-1}}});
  }
  const std::vector<Tensor> both{a, b};
  const Call flat(call.row, call.attributes, both);
  std::vector<int> axes(a.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return sum_over(flat, axes, axes);
}

std::vector<Tensor> expand_tensordot(const Call& call) {
  check_two(call);
  const std::string operation(call.row.name);
  const Ints axes_a = call.attributes.ints("axes_a");
  const Ints axes_b = call.attributes.ints("axes_b");
  if (axes_a.size() != axes_b.size())
    wrong_value(fmt::format("{}sums over {} axes of the first and {} of the second", call.prefix(),
                            axes_a.size(), axes_b.size()));
  (void)normal_axes(axes_a, call.inputs[0].ndim(), operation);
  (void)normal_axes(axes_b, call.inputs[1].ndim(), operation);
  std::vector<int> first;
  std::vector<int> second;
  for (std::size_t i = 0; i < axes_a.size(); ++i) {
    first.push_back(normal_axis(axes_a[i], call.inputs[0].ndim(), operation));
    second.push_back(normal_axis(axes_b[i], call.inputs[1].ndim(), operation));
  }
  return sum_over(call, first, second);
}

std::vector<Tensor> expand_matmul(const Call& call) {
  check_two(call);
  const Shape a = call.inputs[0].shape();
  const Shape b = call.inputs[1].shape();
  if (a.empty() || b.empty())
    wrong_value(call.prefix() + "is not defined for tensors without axes; use multiply");
  const Index inner_a = a.back();
  const Index inner_b = b[b.size() == 1 ? 0 : b.size() - 2];
  if (inner_a != inner_b && inner_a != kUnknown && inner_b != kUnknown)
    wrong_value(fmt::format("{}inner sizes differ: {} and {}, of shapes {} and {}", call.prefix(),
                            inner_a, inner_b, text(a), text(b)));
  constexpr std::int64_t kRow = 0;
  constexpr std::int64_t kSummed = 1;
  constexpr std::int64_t kColumn = 2;
  constexpr std::int64_t kBatch = 3;
  const std::size_t batch_a = a.size() < 2 ? 0 : a.size() - 2;
  const std::size_t batch_b = b.size() < 2 ? 0 : b.size() - 2;
  const std::size_t batch = std::max(batch_a, batch_b);
  const auto missing = [&](std::size_t own) { return static_cast<std::int64_t>(batch - own); };
  Ints labels_a = labels_from(kBatch + missing(batch_a), batch_a);
  Ints labels_b = labels_from(kBatch + missing(batch_b), batch_b);
  Ints out = labels_from(kBatch, batch);
  if (a.size() > 1) labels_a.push_back(kRow);
  labels_a.push_back(kSummed);
  labels_b.push_back(kSummed);
  if (b.size() > 1) labels_b.push_back(kColumn);
  if (a.size() > 1) out.push_back(kRow);
  if (b.size() > 1) out.push_back(kColumn);
  return apply(
      "contract", call.inputs.all(),
      {{"a", labels_a}, {"b", labels_b}, {"out", out}, {"operation", std::string(call.row.name)}});
}

constexpr OperatorRow kDot{
    .name = "dot",
    .summary = "the product of matrices and vectors, last axis with last but one",
    .family = Family::linalg,
    .expand = expand_dot};
constexpr OperatorRow kInner{.name = "inner",
                             .summary = "sums of products over the last axes",
                             .family = Family::linalg,
                             .expand = expand_inner};
constexpr OperatorRow kVdot{.name = "vdot",
                            .summary = "the product of two vectors, the first conjugated",
                            .family = Family::linalg,
                            .expand = expand_vdot};
constexpr OperatorRow kMatmul{.name = "matmul",
                              .summary = "the product of matrices, or of stacks of them",
                              .family = Family::linalg,
                              .expand = expand_matmul};
constexpr OperatorRow kTensordot{.name = "tensordot",
                                 .summary = "sums of products over pairs of axes",
                                 .family = Family::linalg,
                                 .expand = expand_tensordot};

}  // namespace

Tensor dot(const Tensor& a, const Tensor& b) { return apply_one(kDot, {a, b}); }
Tensor inner(const Tensor& a, const Tensor& b) { return apply_one(kInner, {a, b}); }
Tensor vdot(const Tensor& a, const Tensor& b) { return apply_one(kVdot, {a, b}); }
Tensor matmul(const Tensor& a, const Tensor& b) { return apply_one(kMatmul, {a, b}); }
Tensor tensordot(const Tensor& a, const Tensor& b, const Ints& axes_a, const Ints& axes_b) {
  return apply_one(kTensordot, {a, b}, {{"axes_a", axes_a}, {"axes_b", axes_b}});
}

void register_products(Registry& registry) {
  for (const OperatorRow* row : {&kDot, &kInner, &kVdot, &kMatmul, &kTensordot}) registry.add(*row);
}

}  // namespace muster::engine
