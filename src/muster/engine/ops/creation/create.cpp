#include "muster/engine/ops/creation/create.h"

#include <string>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/tile/chunking.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

Tiled create(TileContext& context, const KernelRow& kernel) {
  const Meta& meta = context.output();
  Tiled out{
      decide_splits(meta.shape, item_size(meta.dtype), context.attributes().find("chunk_size"),
                    context.options(), std::string(context.row().name)),
      {}};
  Attributes::Pairs common = context.attributes().pairs();
  std::erase_if(common, [](const auto& pair) {
    return pair.first == "shape" || pair.first == "first" || pair.first == "chunk_size";
  });
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    Shape extents = extents_at(out.splits, position);
    Attributes::Pairs own = common;
    own.emplace_back("shape", Ints(extents));
    own.emplace_back("first", Ints(start_of_chunk(position)));
    out.chunks.push_back(
        context.emit(kernel, Attributes(std::move(own)), {}, {meta.dtype, std::move(extents)}));
  });
  return out;
}

Shape asked_shape(const Call& call) {
  Shape shape = call.attributes.ints("shape");
  for (const Index extent : shape)
    if (extent < 0)
      wrong_value(
          fmt::format("{}negative extents are not allowed: {}", call.prefix(), text(shape)));
  (void)volume(shape);
  check_chunk_size(shape, call.attributes.find("chunk_size"), std::string(call.row.name));
  return shape;
}

}  // namespace muster::engine
