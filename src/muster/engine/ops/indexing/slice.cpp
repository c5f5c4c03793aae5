#include "muster/engine/ops/indexing/slice.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/ops/indexing/range.h"
#include "muster/engine/ops/indexing/writable_input.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// A view of less than one in this many items would keep too much memory alive: it is copied.
constexpr Index kWasteful = 8;

/// The parameters of a slice, axis by axis.
struct Bounds {
  Ints start, stop, step;
  std::vector<bool> is_item;

  explicit Bounds(const Attributes& attributes)
      : start(attributes.ints("start")),
        stop(attributes.ints("stop")),
        step(attributes.ints("step")),
        is_item(start.size(), false) {
    if (attributes.has("items"))
      for (const Index axis : attributes.ints("items"))
        is_item[static_cast<std::size_t>(axis)] = true;
  }
  [[nodiscard]] bool is_whole(std::size_t axis) const {
    return !is_item[axis] && start[axis] == kOpen && stop[axis] == kOpen &&
           (step[axis] == kOpen || step[axis] == 1);
  }
  [[nodiscard]] Range range(std::size_t axis, Index extent) const {
    return is_item[axis] ? item_range(start[axis], extent, axis, "getitem")
                         : slice_range(start[axis], stop[axis], step[axis], extent);
  }
};

void check_bounds(const Call& call, const Bounds& bounds) {
  const std::size_t ndim = call.inputs.front().ndim();
  if (bounds.start.size() != ndim || bounds.stop.size() != ndim || bounds.step.size() != ndim)
    wrong_index(fmt::format("{}there are bounds for {} axes, but {} axes", call.prefix(),
                            bounds.start.size(), ndim));
}

Shape sliced_shape(const Shape& shape, const Bounds& bounds, bool keeps_items) {
  Shape out;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Index extent = bounds.is_whole(axis)     ? shape[axis]
                         : shape[axis] == kUnknown ? kUnknown
                                                   : bounds.range(axis, shape[axis]).count;
    if (keeps_items || !bounds.is_item[axis]) out.push_back(bounds.is_item[axis] ? 1 : extent);
  }
  return out;
}

void run_slice(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  const Array& in = context.input(0);
  Shape extents = attributes.get<Ints>("count");
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] == kUnknown) extents[axis] = in.shape()[axis];
  const Array part = in.slice(attributes.get<Ints>("start"), extents, attributes.get<Ints>("step"));
  Shape shape;
  Strides strides;
  const Ints items = attributes.get<Ints>("items");
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (std::find(items.begin(), items.end(), static_cast<Index>(axis)) != items.end()) continue;
    shape.push_back(extents[axis]);
    strides.push_back(part.strides()[axis]);
  }
  Array out = part.view(std::move(shape), std::move(strides));
  if (out.size() * kWasteful < in.size()) {
    Array copy = context.make(out.dtype(), out.shape());
    copy_items(out, copy);
    out = std::move(copy);
  }
  context.set(std::move(out));
}
constexpr KernelRow kSliceKernel{"slice", run_slice};

std::vector<Meta> infer_slice(const Call& call) {
  const Bounds bounds(call.attributes);
  check_bounds(call, bounds);
  const Tensor& x = call.inputs.front();
  return {{x.dtype(), sliced_shape(x.shape(), bounds, false)}};
}

TileResult tile_slice(TileContext& context) {
  const Tiled& in = context.input(0);
  const Bounds bounds(context.attributes());
  const std::size_t ndim = in.splits.size();
  std::vector<std::vector<RangePiece>> pieces(ndim);
  std::vector<Index> steps(ndim, 1);
  Ints items;
  Shape grid;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    if (bounds.is_whole(axis)) {
      for (std::size_t chunk = 0; chunk < in.splits[axis].size(); ++chunk)
        pieces[axis].push_back({static_cast<Index>(chunk), 0, in.splits[axis][chunk], 0});
    } else {
      if (!is_known(in.splits[axis])) return context.wait_for_sizes({0});
      const Range range = bounds.range(axis, context.input_meta(0).shape[axis]);
      pieces[axis] = pieces_of(range, in.splits[axis]);
      steps[axis] = range.step;
    }
    if (bounds.is_item[axis]) items.push_back(static_cast<Index>(axis));
    grid.push_back(static_cast<Index>(pieces[axis].size()));
  }
  Tiled out;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    if (bounds.is_item[axis]) continue;
    out.splits.emplace_back();
    for (const RangePiece& piece : pieces[axis]) out.splits.back().push_back(piece.count);
  }
  for_each_position(grid, [&](const Shape& position) {
    Shape from;
    Ints start;
    Ints count;
    bool whole = items.empty();
    Shape extents;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
      const RangePiece& piece = pieces[axis][static_cast<std::size_t>(position[axis])];
      from.push_back(piece.chunk);
      start.push_back(piece.start);
      count.push_back(piece.count);
      whole = whole && steps[axis] == 1 && piece.start == 0 &&
              piece.count == in.splits[axis][static_cast<std::size_t>(piece.chunk)];
      if (!bounds.is_item[axis]) extents.push_back(piece.count);
    }
    const ChunkRef chunk = in.at(from);
    if (whole)
      out.chunks.push_back(chunk);
    else
      out.chunks.push_back(context.emit(
          kSliceKernel,
          {{"start", start}, {"count", count}, {"step", Ints(steps)}, {"items", items}}, {chunk},
          {context.output().dtype, extents}));
  });
  return out;
}

constexpr OperatorRow kSlice{.name = "slice",
                             .summary = "the items within a slice of each axis",
                             .family = Family::indexing,
                             .infer = infer_slice,
                             .tile = tile_slice};

void run_set_slice(KernelContext& context) {
  const Attributes& attributes = context.attributes();
  Array out = writable_input(context, 0);
  Array part = out.slice(attributes.get<Ints>("start"), context.input(1).shape(),
                         attributes.get<Ints>("step"));
  copy_items(context.input(1), part);
  context.set(std::move(out));
}
constexpr KernelRow kSetKernel{"set_slice", run_set_slice};

std::vector<Meta> infer_set_slice(const Call& call) {
  const Bounds bounds(call.attributes);
  check_bounds(call, bounds);
  const Tensor& x = call.inputs[0];
  const Tensor& value = call.inputs[1];
  const Shape expected = sliced_shape(x.shape(), bounds, true);
  if (value.dtype() != x.dtype())
    wrong_type(fmt::format("{}the items are {}, the new ones {}", call.prefix(), name(x.dtype()),
                           name(value.dtype())));
  if (is_known(expected) && is_known(value.shape()) && value.shape() != expected)
    wrong_value(fmt::format("{}the slice has shape {}, the new items {}", call.prefix(),
                            text(expected), text(value.shape())));
  return {x.meta()};
}

TileResult tile_set_slice(TileContext& context) {
  for (const std::size_t i : {0u, 1u})
    if (!context.knows(i)) return context.wait_for_sizes({i});
  const Tiled& in = context.input(0);
  const Bounds bounds(context.attributes());
  const DType dtype = context.output().dtype;
  const std::size_t ndim = in.splits.size();
  std::vector<std::vector<RangePiece>> pieces(ndim);
  // For each chunk along an axis, the number of its piece; -1 for none.
  std::vector<std::vector<Index>> piece_of(ndim);
  Ints steps;
  Splits cuts(ndim);
  Index touched = 1;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    const Range range = bounds.range(axis, context.input_meta(0).shape[axis]);
    pieces[axis] = pieces_of(range, in.splits[axis]);
    piece_of[axis].assign(in.splits[axis].size(), -1);
    steps.push_back(range.step);
    touched *= range.count;
    for (std::size_t number = 0; number < pieces[axis].size(); ++number) {
      piece_of[axis][static_cast<std::size_t>(pieces[axis][number].chunk)] =
          static_cast<Index>(number);
      cuts[axis].push_back(pieces[axis][number].count);
    }
  }
  if (touched == 0) return in;
  const Tiled value = rechunk(context, context.input(1), dtype, cuts);
  Tiled out{in.splits, {}};
  for_each_position(grid_of(in.splits), [&](const Shape& position) {
    Shape from;
    Ints start;
    bool hit = true;
    for (std::size_t axis = 0; hit && axis < ndim; ++axis) {
      const Index number = piece_of[axis][static_cast<std::size_t>(position[axis])];
      hit = number >= 0;
      from.push_back(number);
      if (hit) start.push_back(pieces[axis][static_cast<std::size_t>(number)].start);
    }
    const ChunkRef chunk = in.at(position);
    out.chunks.push_back(hit ? context.emit(kSetKernel, {{"start", start}, {"step", steps}},
                                            {chunk, value.at(from)}, context.meta(chunk))
                             : chunk);
  });
  return out;
}

constexpr OperatorRow kSetSlice{.name = "set_slice",
                                .summary = "with other items within a slice",
                                .family = Family::indexing,
                                .infer = infer_set_slice,
                                .tile = tile_set_slice};

}  // namespace

void register_slices(Registry& registry) {
  registry.add(kSlice);
  registry.add(kSliceKernel);
  registry.add(kSetSlice);
  registry.add(kSetKernel);
}

Tensor slice(const Tensor& x, const std::vector<Slice>& slices) {
  Ints start(x.ndim(), kOpen);
  Ints stop(x.ndim(), kOpen);
  Ints step(x.ndim(), 1);
  if (slices.size() > x.ndim())
    wrong_index(fmt::format("[slice] {} slices of a tensor with {} axes", slices.size(), x.ndim()));
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    start[axis] = slices[axis].start;
    stop[axis] = slices[axis].stop;
    step[axis] = slices[axis].step;
  }
  return apply_one(kSlice, {x}, {{"start", start}, {"stop", stop}, {"step", step}});
}

}  // namespace muster::engine
