#include "muster/engine/ops/sorting/sort_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

/// Fewer items are not worth a task, unless memory holds no more.
constexpr Index kLeastRun = 1 << 16;
constexpr Index kLeastInTask = 1 << 10;

Index least_run(const Options& options, std::size_t item_size) {
  return std::min(kLeastRun, most_in_task(options, item_size));
}

Index sum(const std::vector<Index>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Index{0});
}

Index up(Index dividend, Index divisor) { return (dividend + divisor - 1) / divisor; }

Index threads_of(const Options& options) {
  return static_cast<Index>(std::max<std::size_t>(1, options.threads));
}

/// About even runs of whole chunks, which are small beside them.
std::vector<Index> even_runs(const std::vector<Index>& given, Index length) {
  const Index total = sum(given);
  const Index count = up(total, length);
  std::vector<Index> runs(static_cast<std::size_t>(count), 0);
  Index begin = 0;
  for (const Index extent : given) {
    const Index middle = begin + extent / 2;
    runs[static_cast<std::size_t>(std::min(count - 1, middle * count / total))] += extent;
    begin += extent;
  }
  return runs;
}

/// Runs of as many whole chunks as `length` allows.
std::vector<Index> full_runs(const std::vector<Index>& given, Index length) {
  std::vector<Index> runs;
  for (const Index extent : given) {
    if (extent == 0) continue;
    if (runs.empty() || runs.back() + extent > length) runs.push_back(0);
    runs.back() += extent;
  }
  return runs;
}

/// How the result is cut: some chunks for each thread to merge.
std::vector<Index> parts_of(const Options& options, Index total, std::size_t item_size) {
  const Index least = least_run(options, item_size);
  const auto limit = static_cast<Index>(options.chunk_store_limit / item_size);
  const Index most = std::max(least, std::min(limit, most_in_task(options, item_size)));
  return even_split(total, std::clamp(up(total, 4 * threads_of(options)), least, most));
}

/// All samples go to one task, so they are not more than fit there. Else there are as many of them
/// as items that come twice because samples are not denser: with R runs and Q parts, 2 * R * Q *
/// step (rank_brackets.h).
Index step_of(const Options& options, const SortPlan& plan, Index total, std::size_t item_size) {
  const auto pieces = static_cast<double>(plan.runs.size() * plan.parts.size());
  const Index even = std::llround(std::sqrt(static_cast<double>(total) / (2 * pieces)));
  return std::max({Index{1}, even, up(total, most_in_task(options, item_size))});
}

}  // namespace

Index most_in_task(const Options& options, std::size_t item_size) {
  if (options.memory_per_thread == 0) return std::numeric_limits<Index>::max() / 16;
  return std::max(kLeastInTask, static_cast<Index>(options.memory_per_thread / 4 / item_size));
}

std::vector<Index> sorting_runs(const Options& options, const std::vector<Index>& given,
                                std::size_t item_size) {
  // Sorting more at once is cheaper than merging more runs, so there is one for each thread unless
  // that makes them much larger than chunks should be.
  constexpr Index kMostChunks = 4;
  // Every merge reads a piece of every run, so there are not too many of them.
  constexpr Index kMostRuns = 64;
  const Index total = sum(given);
  const Index least = least_run(options, item_size);
  if (total <= least) return {total};
  const auto limit = kMostChunks * static_cast<Index>(options.chunk_store_limit / item_size);
  const Index fair =
      std::clamp<Index>(up(total, threads_of(options)), least, std::max<Index>(limit, least));
  const Index wanted = std::max(fair, up(total, kMostRuns));
  const Index length = std::min(wanted, most_in_task(options, item_size));
  // Cuts where chunks end save a copy.
  const Index longest = *std::max_element(given.begin(), given.end());
  if (8 * longest <= length) return even_runs(given, length);
  if (length < wanted && longest <= length) return full_runs(given, length);
  return even_split(total, length);
}

SortPlan plan_sort(const Options& options, const std::vector<Index>& given, std::size_t item_size) {
  SortPlan plan;
  const Index total = sum(given);
  plan.runs = sorting_runs(options, given, item_size);
  plan.parts = parts_of(options, total, item_size);
  plan.step = step_of(options, plan, total, item_size);
  const std::size_t memory = options.memory_per_thread * std::max<std::size_t>(1, options.threads);
  plan.copies = memory > 0 && 2 * static_cast<std::size_t>(total) * item_size > memory;
  return plan;
}

}  // namespace muster::engine
