#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "muster/engine/value/dtype.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Items that lie one after the other, seen as `groups` times `rows` times `width`: each column of
/// a group goes into an accumulator of its own, so there are `groups` times `width` of them.
struct Runs {
  Index groups = 1;
  Index rows = 1;
  Index width = 1;
  /// Where there are gaps: the bytes from one row of a single group to the next, or, if `width` is
  /// one, from one group to the next.
  Index step = 0;
};

/// One typed form of a reduction: items of `input` go into accumulators of `state` bytes each,
/// which in the end give items of `output`. Accumulators travel between tasks as bytes.
struct ReduceLoop {
  Type input;
  Type output;
  /// What `fold` takes and `finish` makes, where that is something else: items are converted on
  /// their way in, block by block, and results on their way out.
  Type items;
  Type results;
  std::size_t state;
  /// Makes accumulators of nothing.
  void (*start)(std::byte* accumulators, std::size_t count);
  /// Takes items into accumulators that have `before` items each already.
  void (*fold)(const std::byte* items, Runs runs, std::byte* accumulators, Index before);
  /// Takes accumulators of `from_items` items each into those of `items` items that come before.
  void (*join)(const std::byte* from, Index from_items, std::byte* accumulators, Index items,
               std::size_t count);
  /// Makes results of accumulators of `items` items each. `ddof`: what variances take off the
  /// number of items.
  void (*finish)(const std::byte* accumulators, Index items, double ddof, std::byte* out,
                 std::size_t count);
};

using ReduceLoops = std::vector<ReduceLoop>;

/// A loop that serves other types too: each an input and its output.
[[nodiscard]] inline ReduceLoops through(const ReduceLoop& loop,
                                         std::initializer_list<std::array<Type, 2>> types) {
  ReduceLoops loops;
  for (const auto& [input, output] : types) {
    loops.push_back(loop);
    loops.back().input = input;
    loops.back().output = output;
  }
  return loops;
}

/// All of them in one list.
[[nodiscard]] inline ReduceLoops together(std::initializer_list<ReduceLoops> lists) {
  ReduceLoops all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// A reduction that can be done in parts, whose accumulators are then joined: sum, min, any, var.
/// Loops are found by their input type; of several with one input type the first is the usual one,
/// and those whose output is the input serve a `dtype` that the caller asks for.
struct Reducer {
  ReduceLoops loops;
  bool needs_items = false;  ///< there is no answer for none (min, max)
  /// Accumulators begin with an Index: the place of the item they hold, counted along the reduced
  /// axes in C order (argmin, argmax).
  bool places = false;
};

}  // namespace muster::engine
