#include "muster/engine/ops/python/map_chunk.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/python/function_kernel.h"
#include "muster/engine/tile/unknown_inputs.h"

namespace muster::engine {

namespace {

bool is_elementwise(const Attributes& attributes) { return attributes.get("elementwise", false); }

std::vector<Meta> infer(const Call& call) {
  if (call.inputs.empty()) wrong_type(call.prefix() + "takes at least one tensor");
  std::vector<Shape> shapes;
  for (const Tensor& input : call.inputs) shapes.push_back(input.shape());
  Shape shape = broadcast(shapes, std::string(call.row.name));
  if (!is_elementwise(call.attributes)) std::fill(shape.begin(), shape.end(), kUnknown);
  std::vector<Meta> metas;
  for (const DType dtype : dtypes_of(call.attributes)) metas.push_back({dtype, shape});
  return metas;
}

/// Functions may give anything: the chunks of a row must fit to those of its neighbours before
/// others read them.
void check_grid(const TileContext& context, Tiled& tiled) {
  const Shape grid = grid_of(tiled.splits);
  for_each_position(grid, [&](const Shape& position) {
    const Shape& shape = context.meta(tiled.at(position)).shape;
    if (shape != extents_at(tiled.splits, position))
      wrong_value(
          fmt::format("[{}] the function's result for chunk {} has the shape {}, but the "
                      "chunks beside it need {}",
                      context.row().name, text(position), text(shape),
                      text(extents_at(tiled.splits, position))));
  });
}

TileResult tile(TileContext& context) {
  const bool elementwise = is_elementwise(context.attributes());
  if (!context.kept().empty()) {
    std::vector<Tiled> done = context.kept();
    for (Tiled& each : done) check_grid(context, each);
    return done;
  }
  const std::optional<Aligned> aligned = align(context);
  if (!aligned) {
    return context.wait_for_sizes(unknown_inputs(context));
  }
  Splits splits = aligned->splits;
  if (!elementwise)
    for (auto& extents : splits) std::fill(extents.begin(), extents.end(), kUnknown);
  std::vector<Tiled> outputs(context.outputs(), Tiled{splits, {}});
  Attributes attributes = {{"function", context.attributes().value("function")},
                           {"dtypes", context.attributes().value("dtypes")},
                           {"ndim", static_cast<std::int64_t>(splits.size())}};
  const bool with_index = context.attributes().get("with_chunk_index", false);
  for_each_position(grid_of(splits), [&](const Shape& position) {
    Attributes own = attributes;
    if (with_index) own = own.with("chunk_index", Ints(position));
    const Shape extents = extents_at(splits, position);
    if (elementwise && is_known(extents)) own = own.with("shape", Ints(extents));
    std::vector<Meta> metas;
    for (std::size_t output = 0; output < outputs.size(); ++output)
      metas.push_back({context.output(output).dtype, extents});
    const std::uint32_t task =
        context.emit_many(function_kernel(), own, aligned->at(position), std::move(metas));
    for (std::uint32_t output = 0; output < outputs.size(); ++output)
      outputs[output].chunks.push_back({task, output});
  });
  if (elementwise || splits.size() < 2) return outputs;
  std::vector<ChunkRef> all;
  for (const Tiled& each : outputs) all.insert(all.end(), each.chunks.begin(), each.chunks.end());
  return TileResult::wait_for(std::move(all), std::move(outputs));
}

constexpr OperatorRow kRow{.name = "map_chunk",
                           .summary = "a function of the user on each chunk",
                           .family = Family::other,
                           .infer = infer,
                           .tile = tile,
                           .effects = true,
                           .through_python = true};

}  // namespace

void register_map_chunk(Registry& registry) { registry.add(kRow); }

}  // namespace muster::engine
