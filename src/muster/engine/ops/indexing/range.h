#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Stands for a bound of a slice that was left away.
inline constexpr Index kOpen = INT64_MIN;

/// Which items of an axis are meant: `count` from `start`, every `step`-th.
struct Range {
  Index start = 0;
  Index step = 1;
  Index count = 0;
};

/// Python's `start:stop:step` on an axis of `extent` items.
[[nodiscard]] Range slice_range(Index start, Index stop, Index step, Index extent);
/// One item; throws ArrayError (index) naming `operation`, the index and the axis if there is none.
[[nodiscard]] Range item_range(Index index, Index extent, std::size_t axis,
                               const std::string& operation);

/// The part of a range that lies in one chunk.
struct RangePiece {
  Index chunk = 0;
  Index start = 0;  ///< in the chunk
  Index count = 0;
  Index number = 0;  ///< of its first item, in the range
};
/// In the range's order; chunks without items are left out, but there is always one piece.
[[nodiscard]] std::vector<RangePiece> pieces_of(const Range& range,
                                                const std::vector<Index>& extents);

}  // namespace muster::engine
