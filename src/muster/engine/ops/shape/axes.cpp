#include "muster/engine/ops/shape/axes.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

namespace {

constexpr Index kNew = -1;

constexpr KernelRow kAxesKernel{"axes", [](KernelContext& context) {
                                  const Array& in = context.input(0);
                                  Shape shape;
                                  Strides strides;
                                  for (const Index axis : context.attributes().get<Ints>("axes")) {
                                    const auto from = static_cast<std::size_t>(axis);
                                    shape.push_back(axis == kNew ? 1 : in.shape()[from]);
                                    strides.push_back(axis == kNew ? 0 : in.strides()[from]);
                                  }
                                  context.set(in.view(std::move(shape), std::move(strides)));
                                }};

std::vector<std::size_t> left_out(const Ints& axes, std::size_t ndim) {
  std::vector<std::size_t> out;
  for (std::size_t axis = 0; axis < ndim; ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<Index>(axis)) == axes.end())
      out.push_back(axis);
  return out;
}

[[noreturn]] void refuse_squeeze(std::size_t axis, Index extent) {
  wrong_value(
      fmt::format("[squeeze] axis {} has extent {}, only one of 1 can be left out", axis, extent));
}

std::vector<Meta> infer_axes(const Call& call) {
  const Meta in = call.inputs.front().meta();
  const Ints axes = call.attributes.ints("axes");
  std::vector<bool> taken(in.shape.size());
  for (const Index axis : axes) {
    if (axis == kNew) continue;
    if (axis < 0 || axis >= std::ssize(in.shape) || taken[static_cast<std::size_t>(axis)])
      wrong_value(fmt::format("{}axis {} is not there or there twice: the shape is {}",
                              call.prefix(), axis, text(in.shape)));
    taken[static_cast<std::size_t>(axis)] = true;
  }
  for (const std::size_t axis : left_out(axes, in.shape.size()))
    if (in.shape[axis] != 1 && in.shape[axis] != kUnknown) refuse_squeeze(axis, in.shape[axis]);
  Shape shape;
  for (const Index axis : axes)
    shape.push_back(axis == kNew ? 1 : in.shape[static_cast<std::size_t>(axis)]);
  return {{in.dtype, shape}};
}

TileResult tile_axes(TileContext& context) {
  const Tiled& in = context.input(0);
  const Ints axes = context.attributes().ints("axes");
  Shape from(in.splits.size(), 0);
  for (const std::size_t axis : left_out(axes, in.splits.size())) {
    const auto& extents = in.splits[axis];
    if (!is_known(extents)) return context.wait_for_sizes({0});
    const auto one = std::find(extents.begin(), extents.end(), Index{1});
    if (context.input_meta(0).shape[axis] != 1)
      refuse_squeeze(axis, context.input_meta(0).shape[axis]);
    from[axis] = one - extents.begin();
  }
  Tiled out;
  for (const Index axis : axes)
    out.splits.push_back(axis == kNew ? std::vector<Index>{1}
                                      : in.splits[static_cast<std::size_t>(axis)]);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if (axes[axis] != kNew) from[static_cast<std::size_t>(axes[axis])] = position[axis];
    out.chunks.push_back(context.emit(kAxesKernel, {{"axes", axes}}, {in.at(from)},
                                      {context.output().dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kAxes{.name = "axes",
                            .summary = "the axes in any order, some new, some left out",
                            .family = Family::shape,
                            .infer = infer_axes,
                            .tile = tile_axes};

std::vector<Tensor> expand_transpose(const Call& call) {
  const Tensor& x = call.inputs.front();
  Ints axes;
  if (call.attributes.has("axes")) {
    for (const Index axis : call.attributes.ints("axes"))
      axes.push_back(normal_axis(axis, x.ndim(), "transpose"));
  } else {
    for (std::size_t axis = x.ndim(); axis-- > 0;) axes.push_back(static_cast<Index>(axis));
  }
  Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (axes.size() != x.ndim() || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    wrong_value(fmt::format("{}axes ({}) do not name each of the {} axes once", call.prefix(),
                            fmt::join(call.attributes.ints("axes"), ", "), x.ndim()));
  return {with_axes(x, std::move(axes))};
}

std::vector<Tensor> expand_expand_dims(const Call& call) {
  const Tensor& x = call.inputs.front();
  const Ints wanted = call.attributes.ints("axis");
  const std::vector<int> added = normal_axes(wanted, x.ndim() + wanted.size(), "expand_dims");
  Ints axes;
  Index next = 0;
  for (std::size_t axis = 0; axis < x.ndim() + wanted.size(); ++axis)
    axes.push_back(std::binary_search(added.begin(), added.end(), static_cast<int>(axis)) ? kNew
                                                                                          : next++);
  return {with_axes(x, std::move(axes))};
}

std::vector<Tensor> expand_squeeze(const Call& call) {
  const Tensor& x = call.inputs.front();
  const Shape shape = x.shape();
  std::vector<int> gone;
  if (call.attributes.has("axis")) {
    gone = normal_axes(call.attributes.ints("axis"), shape.size(), "squeeze");
  } else {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == 1) gone.push_back(static_cast<int>(axis));
  }
  Ints axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (!std::binary_search(gone.begin(), gone.end(), static_cast<int>(axis)))
      axes.push_back(static_cast<Index>(axis));
  return {with_axes(x, std::move(axes))};
}

constexpr OperatorRow kTranspose{.name = "transpose",
                                 .summary = "the axes in another order",
                                 .family = Family::shape,
                                 .expand = expand_transpose};
constexpr OperatorRow kExpandDims{.name = "expand_dims",
                                  .summary = "new axes of extent one",
                                  .family = Family::shape,
                                  .expand = expand_expand_dims};
constexpr OperatorRow kSqueeze{.name = "squeeze",
                               .summary = "without axes of extent one",
                               .family = Family::shape,
                               .expand = expand_squeeze};

}  // namespace

void register_axes(Registry& registry) {
  registry.add(kAxes);
  registry.add(kAxesKernel);
  registry.add(kTranspose);
  registry.add(kExpandDims);
  registry.add(kSqueeze);
}

Tensor with_axes(const Tensor& x, std::vector<Index> axes) {
  bool same = axes.size() == x.ndim();
  for (std::size_t axis = 0; same && axis < axes.size(); ++axis)
    same = axes[axis] == static_cast<Index>(axis);
  return same ? x : apply_one(kAxes, {x}, {{"axes", Ints(std::move(axes))}});
}

Tensor transpose(const Tensor& x, const std::vector<Index>& axes) {
  return apply_one(kTranspose, {x}, axes.empty() ? Attributes() : Attributes{{"axes", Ints(axes)}});
}

Tensor expand_dims(const Tensor& x, const std::vector<Index>& axes) {
  return apply_one(kExpandDims, {x}, {{"axis", Ints(axes)}});
}

Tensor squeeze(const Tensor& x, const std::vector<Index>& axes) {
  return apply_one(kSqueeze, {x}, axes.empty() ? Attributes() : Attributes{{"axis", Ints(axes)}});
}

}  // namespace muster::engine
