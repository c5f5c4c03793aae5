#pragma once

#include <span>
#include <vector>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// How many samples are taken of so many items: those at 0, step, 2 * step and so on.
[[nodiscard]] constexpr Index sample_count(Index items, Index step) {
  return (items + step - 1) / step;
}

/// Where each run is to be cut at a rank, as closely as samples tell: behind `least` items or more,
/// and behind `most` at most.
struct RankBracket {
  std::vector<Index> least;
  std::vector<Index> most;
};

/// Brackets the cuts that `cut_runs` would find if it saw the runs themselves, from every step-th
/// item of each. Between `least` and `most` of all R runs together there are less than
/// (2 * R + 1) * step items, however often they repeat.
///
/// Of the sample that has t others before it, `t * step` items at most lie before it, since each
/// of the samples stands for itself and the step - 1 behind it; and those at least but for step - 1
/// in each run, which may lie behind it though their sample does not. So the samples below
/// rank / step are before the cut, and those from (rank + R * (step - 1)) / step on are not.
template <class T>
[[nodiscard]] RankBracket bracket_rank(const std::vector<std::span<const T>>& samples,
                                       std::span<const Index> sizes, Index step, Index rank);

}  // namespace muster::engine
