#include "muster/engine/ops/reduction/whole_rows.h"

#include <algorithm>

#include "muster/engine/tile/chunking.h"
#include "muster/engine/value/starts.h"

namespace muster::engine {

namespace {

/// Less than this stays in a cache, which does not care. A cluster is not concerned: its clients
/// upload arrays above an eighth of this, which then are not in the memory of whoever cuts them.
constexpr Index kLeastBytes = Index{8} << 20;
/// With fewer rows in a chunk, sums of columns would be as large as what they are made of.
constexpr Index kLeastRows = 16;

/// The array of which the chunks are parts; an empty handle if they are not.
Array whole_of(const TileContext& context, const Tiled& tiled) {
  const Array first = context.value(tiled.chunks.front());
  if (!first || !first.owner() || first.strides().back() != static_cast<Index>(first.item_size()))
    return {};
  Array whole = first.view(shape_of(tiled.splits), first.strides());
  const Starts start_of_chunk(tiled.splits);
  bool fits = true;
  for_each_position(grid_of(tiled.splits), [&](const Shape& position) {
    if (!fits) return;
    const Array part = context.value(tiled.at(position));
    const Array there = whole.slice(start_of_chunk(position), extents_at(tiled.splits, position));
    fits = part && part.owner() == first.owner() && part.strides() == first.strides() &&
           part.data() == there.data();
  });
  return fits ? whole : Array();
}

Index largest_chunk(const Splits& splits) {
  Index items = 1;
  for (const auto& extents : splits) items *= *std::max_element(extents.begin(), extents.end());
  return items;
}

/// Chunks of `items`: whole along the last axes, as far as they go.
Splits rows_of(const Shape& shape, Index items) {
  Splits splits(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const Index size = std::clamp<Index>(items, 1, shape[axis]);
    splits[axis] = even_split(shape[axis], size);
    items /= size;
  }
  return splits;
}

}  // namespace

Tiled in_whole_rows(TileContext& context, const Tiled& tiled) {
  const Shape shape = shape_of(tiled.splits);
  if (shape.size() < 2 || tiled.splits.back().size() == 1 || !is_known(shape) || volume(shape) == 0)
    return tiled;
  const auto item_bytes = static_cast<Index>(item_size(context.meta(tiled.chunks.front()).dtype));
  const Index items = largest_chunk(tiled.splits);
  if (volume(shape) * item_bytes < kLeastBytes || items / shape.back() < kLeastRows) return tiled;
  const Array whole = whole_of(context, tiled);
  if (!whole) return tiled;
  Tiled out{rows_of(shape, items), {}};
  const Starts start_of_chunk(out.splits);
  for_each_position(grid_of(out.splits), [&](const Shape& position) {
    out.chunks.push_back(context.emit_ready(
        whole.slice(start_of_chunk(position), extents_at(out.splits, position))));
  });
  return out;
}

}  // namespace muster::engine
