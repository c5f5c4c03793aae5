#include "muster/engine/ops/indexing/copy_rows.h"

namespace muster::engine {

namespace {

void copy_by_rows(std::span<const RowMove> moves, const Shape& shape, const Strides& from,
                  const Strides& to, std::size_t item_size) {
  const Walk walk(shape, {to, from});
  const auto size = static_cast<Index>(item_size);
  const Index to_step = walk.steps()[0];
  const Index from_step = walk.steps()[1];
  for (const RowMove& move : moves)
    walk({move.to, const_cast<std::byte*>(move.from)}, [&](std::byte* const* at, Index count) {
      if (to_step == size && from_step == size) {
        std::memcpy(at[0], at[1], static_cast<std::size_t>(count * size));
        return;
      }
      std::byte* out = at[0];
      const std::byte* in = at[1];
      for (; count > 0; --count, out += to_step, in += from_step) copy_item(out, in, item_size);
    });
}

template <std::size_t Size>
void copy_by_items(std::span<const RowMove> moves, Index from, Index to) {
  for (const RowMove& move : moves) std::memcpy(move.to + to, move.from + from, Size);
}

}  // namespace

void copy_rows(std::span<const RowMove> moves, const Shape& shape, const Strides& from,
               const Strides& to, std::size_t item_size) {
  const auto size = static_cast<Index>(item_size);
  const bool together = !shape.empty() && to.back() == size && shape.back() > 1;
  if (together) {
    copy_by_rows(moves, shape, from, to, item_size);
    return;
  }
  for_each_position(shape, [&](const Shape& position) {
    Index from_offset = 0;
    Index to_offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      from_offset += position[axis] * from[axis];
      to_offset += position[axis] * to[axis];
    }
    switch (item_size) {
      case 1: return copy_by_items<1>(moves, from_offset, to_offset);
      case 2: return copy_by_items<2>(moves, from_offset, to_offset);
      case 4: return copy_by_items<4>(moves, from_offset, to_offset);
      case 8: return copy_by_items<8>(moves, from_offset, to_offset);
      default: return copy_by_items<16>(moves, from_offset, to_offset);
    }
  });
}

}  // namespace muster::engine
