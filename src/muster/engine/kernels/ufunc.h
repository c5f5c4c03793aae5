#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "muster/engine/value/dtype.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Computes `count` items. Inputs and output lie without gaps; an output may be the same memory as
/// an input, item for item, but never overlaps it otherwise.
using Loop = void (*)(const std::byte* const* inputs, std::byte* output, std::size_t count);

/// One typed form of an element-wise function.
struct LoopRow {
  std::array<Type, 3> inputs;  ///< as many as the function has
  Type output;
  Loop loop;
  /// What the loop reads, if the inputs are converted once more on their way in.
  std::array<Type, 3> items = inputs;
};

/// An element-wise function: its typed forms, in the order in which they are tried. The first whose
/// inputs all arguments can be cast to safely is taken, as NumPy does.
struct Ufunc {
  std::size_t inputs = 1;
  std::vector<LoopRow> loops;
};

/// The loop that converts items; never null. Times are converted as their integers.
[[nodiscard]] Loop cast_loop(Type from, Type to);

}  // namespace muster::engine
