#include "muster/engine/ops/shape/rechunk.h"

#include <utility>

#include "muster/engine/errors.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

std::vector<Meta> infer_rechunk(const Call& call) {
  const Tensor& x = call.inputs.front();
  if (!call.attributes.has("chunk_size")) wrong_type(call.prefix() + "needs a chunk_size");
  if (is_known(x.shape()))
    check_chunk_size(x.shape(), call.attributes.find("chunk_size"), "rechunk");
  return {x.meta()};
}

TileResult tile_rechunk(TileContext& context) {
  if (!context.knows(0)) return context.wait_for_sizes({0});
  const Tiled& in = context.input(0);
  const DType dtype = context.output().dtype;
  Attribute::Value chunk_size = context.attributes().value("chunk_size");
  if (auto* parts = std::get_if<List>(&chunk_size))
    for (std::size_t axis = 0; axis < std::min(parts->size(), in.splits.size()); ++axis)
      if (std::holds_alternative<std::monostate>((*parts)[axis].value))
        (*parts)[axis].value = Ints(in.splits[axis]);
  return rechunk(context, in, dtype,
                 decide_splits(shape_of(in.splits), item_size(dtype), &chunk_size,
                               context.options().chunk_store_limit, "rechunk"));
}

constexpr OperatorRow kRechunkRow{.name = "rechunk",
                                  .summary = "the same items in other chunks",
                                  .family = Family::shape,
                                  .infer = infer_rechunk,
                                  .tile = tile_rechunk};

}  // namespace

void register_rechunk(Registry& registry) {
  registry.add(kRechunkRow);
  register_rechunk_kernel(registry);
}

Tensor rechunk(const Tensor& x, Attribute::Value chunk_size) {
  return apply_one(kRechunkRow, {x}, {{"chunk_size", std::move(chunk_size)}});
}

}  // namespace muster::engine
