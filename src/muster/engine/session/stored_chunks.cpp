#include "muster/engine/session/stored_chunks.h"

#include <algorithm>

#include "muster/engine/value/starts.h"

namespace muster::engine {

Array assemble(const Stored& stored, Memory& memory) {
  const Splits& splits = stored.splits();
  if (chunk_count(splits) == 1) return stored.chunk(0);
  Array whole(memory, stored.dtype(), shape_of(splits));
  std::size_t number = 0;
  const Starts start_of_chunk(splits);
  for_each_position(grid_of(splits), [&](const Shape& position) {
    Array part = whole.slice(start_of_chunk(position), extents_at(splits, position));
    copy_items(stored.chunk(number++), part);
  });
  return whole;
}

Array assemble_part(const Stored& stored, const Shape& start, const Shape& extents,
                    Memory& memory) {
  const Splits& splits = stored.splits();
  Array part(memory, stored.dtype(), extents);
  const Shape grid = grid_of(splits);
  // Along each axis: the first chunk that is touched, and how many are.
  Shape first(grid.size(), 0);
  Shape touched(grid.size(), 0);
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    Index at = 0;
    for (const Index extent : splits[axis]) {
      if (at + extent <= start[axis]) ++first[axis];
      if (at + extent > start[axis] && at < start[axis] + extents[axis]) ++touched[axis];
      at += extent;
    }
  }
  for_each_position(touched, [&](const Shape& offset) {
    Shape position = first;
    for (std::size_t axis = 0; axis < grid.size(); ++axis) position[axis] += offset[axis];
    const Array chunk = stored.chunk(number_of(position, grid));
    const Shape chunk_start = start_of(splits, position);
    Shape from(grid.size());
    Shape to(grid.size());
    Shape common(grid.size());
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      const Index begin = std::max(start[axis], chunk_start[axis]);
      const Index end =
          std::min(start[axis] + extents[axis], chunk_start[axis] + chunk.shape()[axis]);
      from[axis] = begin - chunk_start[axis];
      to[axis] = begin - start[axis];
      common[axis] = end - begin;
    }
    Array into = part.slice(to, common);
    copy_items(chunk.slice(from, common), into);
  });
  return part;
}

}  // namespace muster::engine
