#include "muster/service/worker/scheduler_link.h"

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using namespace std::chrono_literals;
using engine::WorkerId;

constexpr TimePoint kStart{1h};
const SchedulerLink::Place kFirst{1, WorkerId(5)};

SchedulerLink registered() {
  SchedulerLink link;
  EXPECT_TRUE(link.begin(kStart, true));
  link.registered(kFirst);
  return link;
}

TEST(SchedulerLink, RegistersOnceTheSchedulerIsThere) {
  SchedulerLink link;
  EXPECT_FALSE(link.begin(kStart, false));
  EXPECT_TRUE(link.begin(kStart, true));
  EXPECT_FALSE(link.begin(kStart + 1s, true)) << "an answer is on its way";
  EXPECT_FALSE(link.follows(kFirst));
  link.registered(kFirst);
  EXPECT_TRUE(link.follows(kFirst));
  EXPECT_FALSE(link.begin(kStart + 1h, true));
}

TEST(SchedulerLink, AsksAgainWhenNoAnswerComes) {
  SchedulerLink link;
  EXPECT_TRUE(link.begin(kStart, true));
  EXPECT_TRUE(link.begin(kStart + SchedulerLink::kPatience, true));
}

TEST(SchedulerLink, RegistersAgainWithASchedulerThatDoesNotKnowIt) {
  for (const Beat& beat :
       {Beat{2, true, WorkerId(5)}, Beat{1, true, WorkerId(6)}, Beat{1, false, {}}}) {
    SchedulerLink link = registered();
    link.heard({1, true, WorkerId(5)});
    EXPECT_FALSE(link.begin(kStart, true));
    link.heard(beat);
    EXPECT_FALSE(link.follows(kFirst));
    EXPECT_EQ(link.before(), kFirst);
    EXPECT_TRUE(link.begin(kStart, true));
  }
}

TEST(SchedulerLink, FollowsNobodyWhileAnAnswerIsOnItsWay) {
  SchedulerLink link = registered();
  link.broken();
  EXPECT_TRUE(link.begin(kStart, true));
  EXPECT_FALSE(link.follows(kFirst));
  link.heard({1, false, {}});
  EXPECT_FALSE(link.begin(kStart, true)) << "that was said before the registration was read";
  link.registered({1, WorkerId(7)});
  EXPECT_TRUE(link.follows({1, WorkerId(7)}));
}

}  // namespace
}  // namespace muster::service
