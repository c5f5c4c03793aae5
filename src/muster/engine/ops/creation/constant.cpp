#include "muster/engine/ops/creation/constant.h"

#include <utility>

#include "muster/engine/tile/chunking.h"
#include "muster/engine/tile/tile_context.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

namespace {

std::vector<Meta> infer(const Call& call) {
  const auto array = call.attributes.get<Array>("array");
  check_chunk_size(array.shape(), call.attributes.find("chunk_size"), "tensor");
  return {{array.dtype(), array.shape()}};
}

TileResult tile(TileContext& context) {
  const auto array = context.attributes().get<Array>("array");
  Tiled out{decide_splits(array.shape(), array.item_size(), context.attributes().find("chunk_size"),
                          context.options(), "tensor"),
            {}};
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    out.chunks.push_back(context.emit_ready(
        array.slice(start_of_chunk(position), extents_at(out.splits, position))));
  });
  return out;
}

constexpr KernelRow kLiteral{"literal", [](KernelContext& context) {
                               context.set(context.attributes().get<Array>("array"));
                             }};

constexpr OperatorRow kRow{.name = "constant",
                           .summary = "items that are there already",
                           .family = Family::creation,
                           .infer = infer,
                           .tile = tile};

}  // namespace

const OperatorRow& constant_row() { return kRow; }
const KernelRow& literal_kernel() { return kLiteral; }
void register_constant(Registry& registry) {
  registry.add(kRow);
  registry.add(kLiteral);
}

Tensor constant(Array array, Attribute::Value chunk_size) {
  return apply_one(kRow, {}, {{"array", std::move(array)}, {"chunk_size", std::move(chunk_size)}});
}

Tensor constant(const Scalar& scalar) {
  return constant(Array::copy_of(scalar.dtype(), {}, scalar.data()));
}

}  // namespace muster::engine
