#include "muster/engine/tile/tile_context.h"

#include <algorithm>

#include "muster/base/assert.h"

namespace muster::engine {

bool TileContext::knows(std::size_t input) const {
  const Splits& splits = inputs_[input]->splits;
  return std::all_of(splits.begin(), splits.end(),
                     [](const auto& extents) { return is_known(extents); });
}

TileResult TileContext::wait_for_sizes(const std::vector<std::size_t>& inputs) const {
  std::vector<ChunkRef> awaited;
  for (const std::size_t input : inputs)
    if (!knows(input))
      awaited.insert(awaited.end(), this->input(input).chunks.begin(),
                     this->input(input).chunks.end());
  MUSTER_ASSERT(!awaited.empty(), "an operator waits only for what it does not know");
  return TileResult::wait_for(std::move(awaited));
}

Tiled tile_blockwise(TileContext& context, const KernelRow& kernel, const Attributes& attributes,
                     DType dtype) {
  Tiled out{context.input(0).splits, {}};
  for (std::size_t number = 0; number < context.input(0).chunks.size(); ++number) {
    std::vector<ChunkRef> chunks;
    for (std::size_t i = 0; i < context.inputs(); ++i) {
      const Tiled& input = context.input(i);
      MUSTER_ASSERT(
          input.chunks.size() == 1 || input.chunks.size() == context.input(0).chunks.size(),
          "blockwise inputs are cut alike");
      chunks.push_back(input.chunks[input.chunks.size() == 1 ? 0 : number]);
    }
    const Shape shape = context.meta(chunks.front()).shape;
    out.chunks.push_back(context.emit(kernel, attributes, std::move(chunks), {dtype, shape}));
  }
  return out;
}

}  // namespace muster::engine
