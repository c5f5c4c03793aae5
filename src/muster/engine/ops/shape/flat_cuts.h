#pragma once

#include <optional>
#include <vector>

#include "muster/engine/value/shape.h"

namespace muster::engine {

// Neighbouring axes seen as one. Chunks of several axes are runs of the flat axis, in order, only
// if some axis is cut anywhere, all before it are cut into ones, and all after it are not cut: such
// cuts are called flat here.

/// Axes of one shape and of another that hold the same items: neighbours with equal volumes.
struct AxisGroup {
  std::vector<std::size_t> from;
  std::vector<std::size_t> to;
};
/// The shapes have the same volume, which is not zero. Groups are as small as can be.
[[nodiscard]] std::vector<AxisGroup> group_axes(const Shape& from, const Shape& to);

/// The extents of the runs that flat cuts make; nothing if they are not flat.
[[nodiscard]] std::optional<std::vector<Index>> flatten_cuts(const Splits& splits);

/// Flat cuts of axes of this shape whose runs have at most `items` items, or one.
[[nodiscard]] Splits choose_flat_cuts(const Shape& shape, Index items);

/// The cuts of axes of this shape whose runs these are; nothing if there are none.
[[nodiscard]] std::optional<Splits> unflatten_cuts(const std::vector<Index>& runs,
                                                   const Shape& shape);

}  // namespace muster::engine
