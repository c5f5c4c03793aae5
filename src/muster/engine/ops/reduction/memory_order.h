#pragma once

#include <span>
#include <vector>

#include "muster/engine/value/array.h"

namespace muster::engine {

/// In which order to go through the axes of arrays that broadcast to `shape`, so that memory is
/// read from front to back: the axes by falling stride of the largest array.
[[nodiscard]] std::vector<int> memory_order(std::span<const Array> inputs, const Shape& shape);

/// Whether it is the order in which the axes are.
[[nodiscard]] bool is_in_order(const std::vector<int>& order);

/// Accumulators of `state` bytes for axes that were gone through in `order`, put into the order of
/// the axes themselves. `kept`: the extents, with ones for the reduced axes.
void put_in_order(const std::byte* from, std::byte* to, std::size_t state, const Shape& kept,
                  const std::vector<int>& order);

}  // namespace muster::engine
