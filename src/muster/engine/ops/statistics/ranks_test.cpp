#include "muster/engine/ops/statistics/ranks.h"

#include <gtest/gtest.h>

namespace muster::engine {
namespace {

double place(const char* method, Index n, double q) {
  const Rank rank = rank_of(*quantile_method_named(method), n, q);
  return static_cast<double>(rank.before) +
         rank.share * static_cast<double>(rank.after - rank.before);
}

TEST(Ranks, LieWhereNumPyPutsThem) {
  EXPECT_DOUBLE_EQ(place("linear", 5, 0.3), 1.2);
  EXPECT_DOUBLE_EQ(place("lower", 5, 0.3), 1);
  EXPECT_DOUBLE_EQ(place("higher", 5, 0.3), 2);
  EXPECT_DOUBLE_EQ(place("midpoint", 5, 0.3), 1.5);
  EXPECT_DOUBLE_EQ(place("nearest", 5, 0.3), 1);
  EXPECT_DOUBLE_EQ(place("inverted_cdf", 4, 0.5), 1);
  EXPECT_DOUBLE_EQ(place("averaged_inverted_cdf", 4, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(place("median", 4, 0.5), 1.5);
}

TEST(Ranks, StayAmongTheItems) {
  for (const char* method : {"inverted_cdf", "weibull", "hazen", "median_unbiased", "nearest",
                             "closest_observation", "averaged_inverted_cdf"})
    for (const Index n : {1, 2, 7})
      for (const double q : {0.0, 0.01, 0.5, 0.99, 1.0}) {
        const Rank rank = rank_of(*quantile_method_named(method), n, q);
        EXPECT_GE(rank.before, 0);
        EXPECT_LT(rank.after, n);
      }
}

TEST(Ranks, HaveNoMethodOfAnotherName) { EXPECT_FALSE(quantile_method_named("best")); }

}  // namespace
}  // namespace muster::engine
