#include "muster/engine/storage/budget.h"

#include <cmath>

#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(CacheBudget, PrefersTheSizeToThePercentage) {
  EXPECT_EQ(cache_budget({.size = 3 * kGiB, .percentage = 10, .memory = 8 * kGiB}).value(),
            3 * kGiB);
}

TEST(CacheBudget, TakesThePercentageOfTheMemory) {
  EXPECT_EQ(cache_budget({.percentage = 25, .memory = 8 * kGiB}).value(), 2 * kGiB);
}

TEST(CacheBudget, ReadsAPercentageAboveAHundredAsAHundred) {
  EXPECT_EQ(cache_budget({.percentage = 250, .memory = 8 * kGiB}).value(), 8 * kGiB);
}

TEST(CacheBudget, IsHalfOfTheMemoryUnlessThePlaceIsSmaller) {
  EXPECT_EQ(cache_budget({.memory = 8 * kGiB}).value(), 4 * kGiB);
  EXPECT_LE(cache_budget({.memory = 8 * kGiB, .room = kGiB}).value(), kGiB * 8 / 10);
}

TEST(CacheBudget, IsAWholeNumberOfPages) {
  EXPECT_EQ(cache_budget({.size = kGiB + 1, .memory = 8 * kGiB}).value(), kGiB);
}

TEST(CacheBudget, RefusesMoreThanTheMemory) {
  const auto budget = cache_budget({.size = 9 * kGiB, .memory = 8 * kGiB});
  ASSERT_FALSE(budget);
  EXPECT_TRUE(budget.error().is(StorageErrc::invalid));
  EXPECT_NE(budget.error().message().find("workerCacheSize is 9663676416 bytes"),
            std::string::npos);
}

TEST(CacheBudget, RefusesMoreThanThePlaceHasInsteadOfShrinkingWhatWasAskedFor) {
  const auto budget = cache_budget({.percentage = 50, .memory = 8 * kGiB, .room = kGiB});
  ASSERT_FALSE(budget);
  EXPECT_TRUE(budget.error().is(StorageErrc::no_memory));
}

TEST(CacheBudget, RefusesSizesAndPercentagesThatMeanNothing) {
  EXPECT_FALSE(cache_budget({.size = 0, .memory = 8 * kGiB}));
  EXPECT_FALSE(cache_budget({.percentage = 0, .memory = 8 * kGiB}));
  EXPECT_FALSE(cache_budget({.percentage = -5, .memory = 8 * kGiB}));
  EXPECT_FALSE(cache_budget({.percentage = std::nan(""), .memory = 8 * kGiB}));
}

}  // namespace
}  // namespace muster::engine
