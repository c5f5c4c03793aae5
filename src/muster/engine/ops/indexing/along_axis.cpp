#include "muster/engine/ops/indexing/along_axis.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/indexing/copy_rows.h"
#include "muster/engine/ops/indexing/index_axes.h"
#include "muster/engine/ops/indexing/scatter.h"
#include "muster/engine/ops/indexing/writable_input.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

/// Calls `f(pointers)` for each place off the axis; the pointers are of the arrays' first items.
template <class F>
void for_each_lane(const Shape& shape, std::size_t axis, std::vector<Strides> strides,
                   std::vector<std::byte*> pointers, F&& f) {
  Shape lanes = shape;
  lanes[axis] = 1;
  const Walk walk(lanes, std::move(strides));
  const std::vector<Index> steps = walk.steps();
  walk(std::move(pointers), [&](std::byte* const* at, Index count) {
    std::vector<std::byte*> lane(at, at + steps.size());
    for (; count > 0; --count) {
      f(lane.data());
      for (std::size_t i = 0; i < lane.size(); ++i) lane[i] += steps[i];
    }
  });
}

/// Moves items between `whole`, at the positions in `index`, and `part`, at the places of these.
template <bool Put>
void move_along(Array& part, Array& whole, const Array& index, std::size_t axis) {
  const Index count = index.shape()[axis];
  const Index extent = whole.shape()[axis];
  const std::size_t size = whole.item_size();
  for_each_lane(index.shape(), axis, {part.strides(), whole.strides(), index.strides()},
                {part.mutable_data(), whole.mutable_data(), const_cast<std::byte*>(index.data())},
                [&](std::byte* const* at) {
                  for (Index i = 0; i < count; ++i) {
                    Index position = 0;
                    std::memcpy(&position, at[2] + i * index.strides()[axis], sizeof position);
                    position = normal_index(position, extent, axis);
                    std::byte* const there = at[1] + position * whole.strides()[axis];
                    std::byte* const here = at[0] + i * part.strides()[axis];
                    copy_item(Put ? there : here, Put ? here : there, size);
                  }
                });
}

constexpr KernelRow kTakeKernel{
    "take_along_axis", [](KernelContext& context) {
      const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
      Array whole = context.input(0);
      Array out = context.make(whole.dtype(), context.input(1).shape());
      move_along<false>(out, whole, context.input(1), axis);
      context.set(std::move(out));
    }};
constexpr KernelRow kPutKernel{
    "put_along_axis", [](KernelContext& context) {
      const auto axis = static_cast<std::size_t>(context.attributes().get<std::int64_t>("axis"));
      Array out = writable_input(context, 0);
      Array value = context.input(2);
      move_along<true>(value, out, context.input(1), axis);
      context.set(std::move(out));
    }};

void check_others(const Shape& x, const Shape& index, std::size_t axis, const std::string& name) {
  bool fits = x.size() == index.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i)
    fits = i == axis || x[i] == index[i] || x[i] == kUnknown || index[i] == kUnknown;
  if (!fits)
    wrong_index(fmt::format("[{}] indices of shape {} do not fit {} along other axes than {}", name,
                            text(index), text(x), axis));
}

std::vector<Meta> infer_along_axis(const Call& call) {
  const std::string operation(call.row.name);
  const Tensor& x = call.inputs[0];
  const Tensor& index = call.inputs[1];
  const auto axis = static_cast<std::size_t>(
      normal_axis(call.attributes.get<std::int64_t>("axis"), x.ndim(), operation));
  if (index.dtype() != DType(Type::i64))
    wrong_index(call.prefix() + "indices must be int64, not " + name(index.dtype()));
  check_others(x.shape(), index.shape(), axis, operation);
  if (call.inputs.size() < 3) return {{x.dtype(), index.shape()}};
  if (call.inputs[2].dtype() != x.dtype() || call.inputs[2].shape() != index.shape())
    wrong_value(call.prefix() +
                "the new items must have the dtype of the tensor and the shape of " +
                "the indices");
  return {x.meta()};
}

TileResult tile_along_axis(TileContext& context) {
  if (const auto unknown = unknown_inputs(context); !unknown.empty())
    return context.wait_for_sizes(unknown);
  const bool puts = context.inputs() == 3;
  const auto axis = static_cast<std::size_t>(
      normal_axis(context.attributes().get<std::int64_t>("axis"), context.input(0).splits.size(),
                  std::string(context.row().name)));
  check_others(context.input_meta(0).shape, context.input_meta(1).shape, axis,
               std::string(context.row().name));
  std::vector<Tiled> inputs;
  for (std::size_t i = 0; i < context.inputs(); ++i) {
    Splits target = context.input(0).splits;
    target[axis] = i == 0 || puts ? std::vector<Index>{context.input_meta(i).shape[axis]}
                                  : context.input(i).splits[axis];
    inputs.push_back(rechunk(context, context.input(i), context.input_meta(i).dtype, target));
  }
  Tiled out{inputs[puts ? 0 : 1].splits, {}};
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    std::vector<ChunkRef> chunks;
    Shape from = position;
    if (!puts) from[axis] = 0;
    chunks.push_back(inputs[0].at(from));
    for (std::size_t i = 1; i < inputs.size(); ++i) chunks.push_back(inputs[i].at(position));
    out.chunks.push_back(context.emit(
        puts ? kPutKernel : kTakeKernel, {{"axis", static_cast<std::int64_t>(axis)}},
        std::move(chunks), {context.output().dtype, extents_at(out.splits, position)}));
  });
  return out;
}

constexpr OperatorRow kTake{.name = "take_along_axis",
                            .summary = "the items at positions that differ along the other axes",
                            .family = Family::indexing,
                            .infer = infer_along_axis,
                            .tile = tile_along_axis};
constexpr OperatorRow kPut{.name = "put_along_axis",
                           .summary = "with other items at positions that differ along other axes",
                           .family = Family::indexing,
                           .infer = infer_along_axis,
                           .tile = tile_along_axis};

}  // namespace

void register_along_axis(Registry& registry) {
  registry.add(kTake);
  registry.add(kTakeKernel);
  registry.add(kPut);
  registry.add(kPutKernel);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, Index axis) {
  return apply_one(kTake, {x, indices}, {{"axis", axis}});
}

}  // namespace muster::engine
