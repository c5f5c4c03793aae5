#pragma once

#include <string>
#include <vector>

#include "muster/engine/graph/attributes.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

/// The axes of a tensor that are indexed by arrays, and the others.
struct IndexAxes {
  std::vector<std::size_t> indexed;
  std::vector<std::size_t> others;
  std::size_t at = 0;  ///< the result has the arrays' axes before this one of the others

  IndexAxes(const Attributes& attributes, std::size_t ndim);

  /// The part of `all` that belongs to the other axes.
  template <class T>
  [[nodiscard]] std::vector<T> of_others(const std::vector<T>& all) const {
    std::vector<T> out;
    for (const std::size_t axis : others) out.push_back(all[axis]);
    return out;
  }
  /// The other axes' part of a tensor with the arrays' part put in.
  template <class T>
  [[nodiscard]] std::vector<T> joined(std::vector<T> other_part,
                                      const std::vector<T>& array_part) const {
    other_part.insert(other_part.begin() + static_cast<std::ptrdiff_t>(at), array_part.begin(),
                      array_part.end());
    return other_part;
  }
};

[[noreturn]] void refuse_index(Index index, Index extent, std::size_t axis);

/// A position from 0 on; throws ArrayError (index) naming the index and the axis.
[[nodiscard]] inline Index normal_index(Index index, Index extent, std::size_t axis) {
  if (index < -extent || index >= extent) refuse_index(index, extent, axis);
  return index < 0 ? index + extent : index;
}

}  // namespace muster::engine
