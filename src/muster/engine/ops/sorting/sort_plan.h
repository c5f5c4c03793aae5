#pragma once

#include <cstddef>
#include <vector>

#include "muster/engine/session/options.h"
#include "muster/engine/value/shape.h"

namespace muster::engine {

/// How a lane of items that is too long for one chunk is sorted (long_sort.h).
struct SortPlan {
  std::vector<Index> runs;   ///< items of each sorted run
  std::vector<Index> parts;  ///< items of each chunk of the result
  Index step = 1;            ///< from one sample of a run to the next
  bool copies = false;       ///< pieces do not keep their run in memory
};

/// `given`: the chunks of the lane. `item_size`: of what goes from task to task.
[[nodiscard]] SortPlan plan_sort(const Options& options, const std::vector<Index>& given,
                                 std::size_t item_size);

/// How to cut a lane for sorting: no run smaller than is worth a task, and none larger than a task
/// may be.
[[nodiscard]] std::vector<Index> sorting_runs(const Options& options,
                                              const std::vector<Index>& given,
                                              std::size_t item_size);

/// So many items may be in one run or chunk where memory counts: a task reads them, writes them and
/// needs as much again for itself.
[[nodiscard]] Index most_in_task(const Options& options, std::size_t item_size);

}  // namespace muster::engine
