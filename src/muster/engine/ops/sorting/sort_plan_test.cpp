#include "muster/engine/ops/sorting/sort_plan.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace muster::engine {

namespace {

Options options_with(std::size_t threads, std::size_t memory_per_thread) {
  Options options;
  options.threads = threads;
  options.memory_per_thread = memory_per_thread;
  return options;
}

Index sum(const std::vector<Index>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Index{0});
}

Index longest(const std::vector<Index>& sizes) {
  return *std::max_element(sizes.begin(), sizes.end());
}

constexpr std::size_t kMiB = 1 << 20;

}  // namespace

TEST(SortPlan, SortsOneRunForEachThreadIfMemoryAllows) {
  const Options options = options_with(2, 8 << 10 << 20);
  const SortPlan plan = plan_sort(options, {10'000'000}, 8);
  EXPECT_EQ(plan.runs, (std::vector<Index>{5'000'000, 5'000'000}));
  EXPECT_EQ(plan.parts.size(), 8u);
  EXPECT_FALSE(plan.copies);
}

TEST(SortPlan, LeavesFewItemsInOneRun) {
  EXPECT_EQ(sorting_runs(options_with(8, 0), {1'000, 2'000}, 8), std::vector<Index>{3'000});
}

TEST(SortPlan, KeepsTasksWithinMemoryWhateverThereIsToSort) {
  for (const std::size_t memory : {kMiB, 16 * kMiB, 256 * kMiB})
    for (const Index items : {Index{1'000'000}, Index{100'000'000}, Index{10'000'000'000}}) {
      const SortPlan plan = plan_sort(options_with(2, memory), {items / 3, items - items / 3}, 8);
      const auto most = static_cast<Index>(memory / 4 / 8);
      EXPECT_LE(longest(plan.runs), most);
      EXPECT_LE(longest(plan.parts), most);
      EXPECT_LE(items / plan.step, most) << "samples that one task reads";
      EXPECT_EQ(sum(plan.runs), items);
      EXPECT_EQ(sum(plan.parts), items);
      EXPECT_EQ(plan.copies, 16 * static_cast<std::size_t>(items) > 2 * memory);
    }
}

TEST(SortPlan, TakesChunksAsTheyAreWhereTheyFit) {
  const std::vector<Index> given(64, 500'000);
  const SortPlan plan = plan_sort(options_with(2, 40 * kMiB), given, 8);
  EXPECT_EQ(plan.runs, std::vector<Index>(32, 1'000'000));
}

TEST(SortPlan, PieceOverlapsAreSmallBesidePieces) {
  const SortPlan plan = plan_sort(options_with(2, 32 * kMiB), std::vector<Index>(64, 1 << 19), 8);
  const auto runs = static_cast<Index>(plan.runs.size());
  EXPECT_LT((2 * runs + 1) * plan.step, plan.parts.front() / 10);
}

}  // namespace muster::engine
