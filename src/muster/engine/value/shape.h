#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::engine {

using Index = std::int64_t;

/// A size that is known only when a part of the graph has run.
inline constexpr Index kUnknown = -1;

/// The extent of each axis; `kUnknown` where it is not known yet.
using Shape = std::vector<Index>;
/// Bytes from one item to the next along each axis; may be negative or zero.
using Strides = std::vector<Index>;
/// For each axis, the extents of the chunks along it. They sum up to the shape.
using Splits = std::vector<std::vector<Index>>;

[[nodiscard]] bool is_known(const Shape& shape);
/// The number of items; `kUnknown` if any extent is.
[[nodiscard]] Index volume(const Shape& shape);
/// As Python writes a tuple: "(3, 4)", "(2,)", "()"; unknown extents as "?".
[[nodiscard]] std::string text(const Shape& shape);

/// Strides of an array without gaps, the last axis (C) or the first (Fortran) running fastest.
[[nodiscard]] Strides c_strides(const Shape& shape, std::size_t item_size);
[[nodiscard]] Strides fortran_strides(const Shape& shape, std::size_t item_size);

/// The shape that both broadcast to; throws ArrayError naming `operation` and the shapes.
[[nodiscard]] Shape broadcast(const std::vector<Shape>& shapes, const std::string& operation);

/// An axis counted from the end made one counted from the start; throws ArrayError naming
/// `operation` if there is no such axis.
[[nodiscard]] int normal_axis(Index axis, std::size_t ndim, const std::string& operation);
/// Likewise for several, sorted; throws when one comes twice.
[[nodiscard]] std::vector<int> normal_axes(const std::vector<Index>& axes, std::size_t ndim,
                                           const std::string& operation);

/// The shape that chunks of these extents make together.
[[nodiscard]] Shape shape_of(const Splits& splits);
/// How many chunks there are along each axis, and in all.
[[nodiscard]] Shape grid_of(const Splits& splits);
[[nodiscard]] std::size_t chunk_count(const Splits& splits);

/// Calls `f(position)` for each position of a grid, the last axis running fastest.
template <class F>
void for_each_position(const Shape& grid, F&& f) {
  Shape position(grid.size(), 0);
  for (Index count = volume(grid); count > 0; --count) {
    f(static_cast<const Shape&>(position));
    for (std::size_t axis = grid.size(); axis-- > 0;) {
      if (++position[axis] < grid[axis]) break;
      position[axis] = 0;
    }
  }
}

/// The number of a position in that order.
[[nodiscard]] std::size_t number_of(const Shape& position, const Shape& grid);
/// The extents of the chunk at `position`.
[[nodiscard]] Shape extents_at(const Splits& splits, const Shape& position);
/// Where the chunk at `position` begins in the whole; only for known splits.
[[nodiscard]] Shape start_of(const Splits& splits, const Shape& position);

}  // namespace muster::engine
