#include "muster/cluster/control/restart.h"

#include <gtest/gtest.h>

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;

constexpr ExitStatus kEndedWell{.code = 0};
constexpr ExitStatus kEndedBadly{.code = 1};
constexpr ExitStatus kKilled{.signal = 9};

RestartSpec policy(RestartPolicy policy) {
  return {.policy = policy, .max = 3, .backoff = milliseconds(100)};
}

TEST(Restart, TakesZeroForSuccess) {
  EXPECT_EQ(after_end(policy(RestartPolicy::never), kEndedWell, 0).verdict, EndVerdict::succeeded);
  EXPECT_EQ(after_end(policy(RestartPolicy::on_failure), kEndedWell, 0).verdict,
            EndVerdict::succeeded);
}

TEST(Restart, FailsTheJobWithoutAPolicy) {
  EXPECT_EQ(after_end(policy(RestartPolicy::never), kEndedBadly, 0).verdict,
            EndVerdict::failed_job);
  EXPECT_EQ(after_end(policy(RestartPolicy::never), kKilled, 0).verdict, EndVerdict::failed_job);
}

TEST(Restart, WaitsTwiceAsLongEachTimeUntilTheBudgetIsSpent) {
  const RestartSpec spec = policy(RestartPolicy::on_failure);
  EXPECT_EQ(after_end(spec, kEndedBadly, 0), (EndDecision{EndVerdict::restart, milliseconds(100)}));
  EXPECT_EQ(after_end(spec, kKilled, 1), (EndDecision{EndVerdict::restart, milliseconds(200)}));
  EXPECT_EQ(after_end(spec, kEndedBadly, 2), (EndDecision{EndVerdict::restart, milliseconds(400)}));
  EXPECT_EQ(after_end(spec, kEndedBadly, 3).verdict, EndVerdict::failed_job);
}

TEST(Restart, NeverWaitsLongerThanFiveMinutes) {
  const RestartSpec spec{
      .policy = RestartPolicy::on_failure, .max = 4'000'000'000, .backoff = std::chrono::hours(2)};
  EXPECT_EQ(after_end(spec, kEndedBadly, 3'000'000'000).backoff, std::chrono::minutes(5));
}

TEST(Restart, AlwaysRestartsSuccessTooUntilTheBudgetIsSpent) {
  EXPECT_EQ(after_end(policy(RestartPolicy::always), kEndedWell, 0).verdict, EndVerdict::restart);
  EXPECT_EQ(after_end(policy(RestartPolicy::always), kEndedWell, 3).verdict, EndVerdict::succeeded);
}

TEST(Restart, KnowsTheCodesThatMeanSomething) {
  for (const auto each : {RestartPolicy::never, RestartPolicy::on_failure, RestartPolicy::always}) {
    EXPECT_EQ(after_end(policy(each), {.code = 64}, 0).verdict, EndVerdict::failed);
    EXPECT_EQ(after_end(policy(each), {.code = 65}, 0).verdict, EndVerdict::failed_job);
  }
}

}  // namespace
}  // namespace muster::cluster
