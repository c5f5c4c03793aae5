#include "muster/engine/ops/sorting/runs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace muster::engine {

namespace {

using Keys = std::vector<std::uint64_t>;

std::vector<Keys> sorted_runs(unsigned seed, const std::vector<std::size_t>& sizes,
                              std::uint64_t most) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::uint64_t> pick(0, most);
  std::vector<Keys> runs;
  for (const std::size_t size : sizes) {
    Keys& run = runs.emplace_back(size);
    for (auto& key : run) key = pick(random);
    std::sort(run.begin(), run.end());
  }
  return runs;
}

std::vector<std::span<const std::uint64_t>> spans(const std::vector<Keys>& runs) {
  return {runs.begin(), runs.end()};
}

}  // namespace

TEST(Runs, CutsAtEveryRankLeaveNothingGreaterBefore) {
  for (const std::uint64_t most : {3u, 100u, 1'000'000u}) {
    const auto runs = sorted_runs(1, {7, 0, 20, 1, 13}, most);
    for (Index rank = 0; rank <= 41; ++rank) {
      const auto cuts = cut_runs<std::uint64_t>(spans(runs), rank);
      Index before = 0;
      std::uint64_t greatest = 0;
      std::uint64_t least = ~std::uint64_t{0};
      for (std::size_t i = 0; i < runs.size(); ++i) {
        before += cuts[i];
        const auto cut = static_cast<std::size_t>(cuts[i]);
        if (cut > 0) greatest = std::max(greatest, runs[i][cut - 1]);
        if (cut < runs[i].size()) least = std::min(least, runs[i][cut]);
      }
      EXPECT_EQ(before, rank);
      EXPECT_LE(greatest, least);
    }
  }
}

void expect_merging_sorts(const std::vector<Keys>& runs) {
  Keys wanted;
  for (const Keys& run : runs) wanted.insert(wanted.end(), run.begin(), run.end());
  std::sort(wanted.begin(), wanted.end());
  Keys merged(wanted.size());
  merge_runs<std::uint64_t>(spans(runs), merged.data());
  EXPECT_EQ(merged, wanted);
}

TEST(Runs, MergingManyRunsSortsThem) {
  for (const std::size_t count : {1u, 2u, 3u, 5u, 8u}) {
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < count; ++i) sizes.push_back(i * 37 % 50);
    expect_merging_sorts(sorted_runs(2, sizes, 60));
  }
}

TEST(Runs, MergingMoreThanTheCacheHoldsSortsThem) {
  for (const std::uint64_t most : {3u, 1'000'000u})
    expect_merging_sorts(sorted_runs(3, {50'000, 0, 3, 40'000, 100'000}, most));
}

TEST(Runs, PairsAreSortedByKeyThenPlace) {
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < 1000; ++i) pairs.push_back({i, i * 7919 % 10});
  std::vector<Pair> wanted = pairs;
  std::sort(wanted.begin(), wanted.end(), KeyLess<Pair>());
  KeySorter().sort(pairs.data(), pairs.size());
  EXPECT_EQ(pairs, wanted);
}

TEST(Keys, HaveTheOrderOfTheItems) {
  const auto memory = Memory::make(1 << 20);
  const std::vector<double> items = {-INFINITY, -2.5, -0.0, 0.0, 1e-300, 3, INFINITY, NAN};
  const Array keys = encoded(Array::copy_of(Type::f64, {8}, items.data()), false, *memory);
  EXPECT_TRUE(std::is_sorted(keys.as<std::uint64_t>(), keys.as<std::uint64_t>() + keys.size()));
  const Array back = decoded(keys, Type::f64, *memory);
  for (std::size_t i = 0; i + 1 < items.size(); ++i) EXPECT_EQ(back.as<double>()[i], items[i]);
  EXPECT_TRUE(std::isnan(back.as<double>()[7]));
}

}  // namespace muster::engine
