#include "muster/engine/ops/joining/concatenate.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/shape/axes.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Many parts that are small are put together: chunks of at least this much.
constexpr std::size_t kManyChunks = 256;
constexpr Index kSmallBytes = 1 << 20;

void check_shape(const Shape& first, const Shape& other, std::size_t axis) {
  bool fits = first.size() == other.size();
  for (std::size_t i = 0; fits && i < first.size(); ++i)
    fits = i == axis || first[i] == other[i] || first[i] == kUnknown || other[i] == kUnknown;
  if (!fits)
    wrong_value(fmt::format("[concatenate] shapes differ along other axes than {}: {} and {}", axis,
                            text(first), text(other)));
}

std::vector<Meta> infer(const Call& call) {
  Meta meta = call.inputs.front().meta();
  const auto axis = static_cast<std::size_t>(normal_axis(
      call.attributes.get<std::int64_t>("axis"), meta.shape.size(), std::string(call.row.name)));
  Index extent = 0;
  for (const Tensor& input : call.inputs) {
    const Shape shape = input.shape();
    if (input.dtype() != meta.dtype)
      wrong_type(fmt::format("{}{} and {} are not one dtype", call.prefix(), name(meta.dtype),
                             name(input.dtype())));
    check_shape(meta.shape, shape, axis);
    extent = extent == kUnknown || shape[axis] == kUnknown ? kUnknown : extent + shape[axis];
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (meta.shape[i] == kUnknown) meta.shape[i] = shape[i];
  }
  meta.shape[axis] = extent;
  return {meta};
}

/// The inputs whose extents along the other axes nobody knows.
std::vector<std::size_t> unknown_inputs(const TileContext& context, std::size_t axis) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    for (std::size_t other = 0; other < context.input(i).splits.size(); ++other)
      if (other != axis && !is_known(context.input(i).splits[other])) {
        out.push_back(i);
        break;
      }
  return out;
}

std::size_t largest_input(const TileContext& context) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < context.inputs(); ++i)
    if (volume(context.input_meta(i).shape) > volume(context.input_meta(best).shape)) best = i;
  return best;
}

Tiled merge_small(TileContext& context, Tiled tiled, std::size_t axis) {
  const auto& extents = tiled.splits[axis];
  if (extents.size() < kManyChunks || !is_known(shape_of(tiled.splits))) return tiled;
  const DType dtype = context.output().dtype;
  const Index bytes = volume(shape_of(tiled.splits)) * static_cast<Index>(item_size(dtype));
  const Index mean = bytes / static_cast<Index>(tiled.chunks.size());
  if (mean >= kSmallBytes || mean == 0) return tiled;
  const Index whole = shape_of(tiled.splits)[axis];
  const Index joined = kSmallBytes / mean + 1;
  Splits target = tiled.splits;
  target[axis] =
      even_split(whole, std::max<Index>(1, whole / static_cast<Index>(extents.size())) * joined);
  return rechunk(context, tiled, dtype, target);
}

TileResult tile(TileContext& context) {
  const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
  if (const auto unknown = unknown_inputs(context, axis); !unknown.empty())
    return context.wait_for_sizes(unknown);
  for (std::size_t i = 1; i < context.inputs(); ++i)
    check_shape(context.input_meta(0).shape, context.input_meta(i).shape, axis);
  const Splits model = context.input(largest_input(context)).splits;
  std::vector<Tiled> parts;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    Splits target = model;
    target[axis] = context.input(i).splits[axis];
    if (target == context.input(i).splits) {
      parts.push_back(context.input(i));
    } else {
      if (!context.knows(i)) return context.wait_for_sizes({i});
      parts.push_back(rechunk(context, context.input(i), context.input_meta(i).dtype, target));
    }
  }
  Tiled out{model, {}};
  out.splits[axis].clear();
  std::vector<std::pair<std::size_t, Index>> from;  // the part, and the number of the chunk in it
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t number = 0; number < parts[i].splits[axis].size(); ++number) {
      const Index extent = parts[i].splits[axis][number];
      if (extent == 0 && context.output().shape[axis] != 0) continue;
      out.splits[axis].push_back(extent);
      from.emplace_back(i, static_cast<Index>(number));
    }
  if (from.empty()) {
    out.splits[axis].push_back(0);
    from.emplace_back(0, 0);
  }
  for_each_position(grid_of(out.splits), [&](Shape position) {
    const auto [part, number] = from[static_cast<std::size_t>(position[axis])];
    position[axis] = number;
    out.chunks.push_back(parts[part].at(position));
  });
  return merge_small(context, std::move(out), axis);
}

constexpr OperatorRow kAlike{.name = "concatenate_alike",
                             .summary = "tensors of one dtype along an axis",
                             .family = Family::joining,
                             .infer = infer,
                             .tile = tile};

std::vector<Tensor> expand(const Call& call) {
  if (call.inputs.empty()) wrong_value(call.prefix() + "needs at least one array");
  DType dtype = call.inputs.front().dtype();
  for (const Tensor& input : call.inputs) {
    if (input.ndim() == 0)
      wrong_value(call.prefix() + "arrays without axes cannot be joined along one");
    if (input.ndim() != call.inputs.front().ndim())
      wrong_value(fmt::format("{}the arrays have {} and {} axes", call.prefix(),
                              call.inputs.front().ndim(), input.ndim()));
    const auto both = promote(dtype, input.dtype());
    if (!both)
      wrong_type(fmt::format("{}there is no dtype for both {} and {}", call.prefix(), name(dtype),
                             name(input.dtype())));
    dtype = *both;
  }
  dtype = call.attributes.get<DType>("dtype", dtype);
  std::vector<Tensor> parts;
  for (const Tensor& input : call.inputs)
    parts.push_back(input.dtype() == dtype ? input
                                           : apply_one("astype", {input}, {{"dtype", dtype}}));
  const Index axis = normal_axis(call.attributes.get<std::int64_t>("axis", 0),
                                 call.inputs.front().ndim(), std::string(call.row.name));
  if (parts.size() == 1) return parts;
  return apply(kAlike, std::move(parts), {{"axis", axis}});
}

constexpr OperatorRow kConcatenate{.name = "concatenate",
                                   .summary = "tensors one after the other along an axis",
                                   .family = Family::joining,
                                   .expand = expand};

constexpr OperatorRow kStack{
    .name = "stack",
    .summary = "tensors side by side along a new axis",
    .family = Family::joining,
    .expand = [](const Call& call) -> std::vector<Tensor> {
      if (call.inputs.empty()) wrong_value(call.prefix() + "needs at least one array");
      const Index axis = normal_axis(call.attributes.get<std::int64_t>("axis", 0),
                                     call.inputs.front().ndim() + 1, "stack");
      std::vector<Tensor> parts;
      for (const Tensor& input : call.inputs) {
        if (input.shape() != call.inputs.front().shape() && is_known(input.shape()) &&
            is_known(call.inputs.front().shape()))
          wrong_value(fmt::format("{}the arrays must have one shape: {} and {}", call.prefix(),
                                  text(call.inputs.front().shape()), text(input.shape())));
        parts.push_back(expand_dims(input, {axis}));
      }
      return apply(kConcatenate, std::move(parts), call.attributes.with("axis", axis));
    }};

}  // namespace

void register_concatenate(Registry& registry) {
  registry.add(kAlike);
  registry.add(kConcatenate);
  registry.add(kStack);
}

Tensor concatenate(const std::vector<Tensor>& parts, Index axis) {
  return apply_one(kConcatenate, parts, {{"axis", axis}});
}

Tensor stack(const std::vector<Tensor>& parts, Index axis) {
  return apply_one(kStack, parts, {{"axis", axis}});
}

}  // namespace muster::engine
