#include "muster/engine/ops/shape/broadcast.h"

#include <utility>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/kernels/kernel.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

constexpr KernelRow kBroadcastKernel{
    "broadcast_to", [](KernelContext& context) {
      context.set(context.input(0).broadcast_to(context.attributes().get<Ints>("shape")));
    }};

void check(const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (std::size_t back = 1; fits && back <= from.size(); ++back) {
    const Index extent = from[from.size() - back];
    fits = extent == 1 || extent == kUnknown || extent == to[to.size() - back];
  }
  if (!fits)
    wrong_value(
        fmt::format("[broadcast_to] shape {} does not broadcast to {}", text(from), text(to)));
}

std::vector<Meta> infer_broadcast(const Call& call) {
  const Shape shape = call.attributes.ints("shape");
  for (const Index extent : shape)
    if (extent < 0)
      wrong_value(
          fmt::format("{}negative extents are not allowed: {}", call.prefix(), text(shape)));
  check(call.inputs.front().shape(), shape);
  return {{call.inputs.front().dtype(), shape}};
}

TileResult tile_broadcast(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const Meta& meta = context.output();
  check(context.input_meta(0).shape, meta.shape);
  const std::size_t added = meta.shape.size() - in.splits.size();
  // Axes that are there keep their cuts; the others are cut so that a copy of a chunk is not large.
  List wishes(meta.shape.size());
  for (std::size_t axis = 0; axis < in.splits.size(); ++axis)
    if (shape_of(in.splits)[axis] == meta.shape[axis + added])
      wishes[axis + added].value = Ints(in.splits[axis]);
  const Attribute::Value chunk_size = std::move(wishes);
  Tiled out{decide_splits(meta.shape, item_size(meta.dtype), &chunk_size,
                          context.options().chunk_store_limit, "broadcast_to"),
            {}};
  const Shape one = shape_of(in.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape from;
    for (std::size_t axis = 0; axis < in.splits.size(); ++axis) {
      Index number = position[axis + added];
      if (one[axis] != meta.shape[axis + added])
        for (number = 0; in.splits[axis][static_cast<std::size_t>(number)] != 1;) ++number;
      from.push_back(number);
    }
    const Shape extents = extents_at(out.splits, position);
    out.chunks.push_back(context.emit(kBroadcastKernel, {{"shape", Ints(extents)}}, {in.at(from)},
                                      {meta.dtype, extents}));
  });
  return out;
}

constexpr OperatorRow kBroadcastRow{.name = "broadcast_to",
                                    .summary = "repeated along axes of extent one, without copying",
                                    .family = Family::shape,
                                    .infer = infer_broadcast,
                                    .tile = tile_broadcast};

}  // namespace

void register_broadcast(Registry& registry) {
  registry.add(kBroadcastRow);
  registry.add(kBroadcastKernel);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return apply_one(kBroadcastRow, {x}, {{"shape", Ints(shape)}});
}

}  // namespace muster::engine
