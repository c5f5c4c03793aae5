#include "muster/cli/engine/restart_budget.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

using std::chrono::minutes;

TEST(RestartBudget, PausesLongerEachTimeAndGivesUp) {
  RestartBudget budget;
  const TimePoint now{minutes(10)};
  Duration last{0};
  for (std::size_t i = 0; i < RestartBudget::kMost; ++i) {
    const auto next = budget.died(now);
    ASSERT_TRUE(next);
    EXPECT_GT(*next - now, last);
    last = *next - now;
  }
  EXPECT_FALSE(budget.died(now));
}

TEST(RestartBudget, ForgivesAfterAWhile) {
  RestartBudget budget;
  const TimePoint now{minutes(10)};
  for (std::size_t i = 0; i < RestartBudget::kMost; ++i) EXPECT_TRUE(budget.died(now));
  EXPECT_EQ(budget.died(now + RestartBudget::kWindow),
            now + RestartBudget::kWindow + RestartBudget::kFirstPause);
}

}  // namespace
}  // namespace muster::cli
