#include "muster/comm/collective/outbox.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OutboxTest : public ::testing::Test {
 protected:
  Outbox::Attempt attempt_ = Outbox::Attempt::sent;
  std::vector<std::string> arrived_;
  Outbox outbox_{[this](const std::string& member, const std::string& text) {
    if (attempt_ == Outbox::Attempt::sent) arrived_.push_back(member + ": " + text);
    return attempt_;
  }};
};

TEST_F(OutboxTest, SendsAtOnceWhatCanBeSent) {
  outbox_.post("a", "lost");
  EXPECT_THAT(arrived_, ElementsAre("a: lost"));
  outbox_.retry();
  EXPECT_THAT(arrived_, ElementsAre("a: lost"));
}

TEST_F(OutboxTest, TellsAMemberThatWasAwayWhenItIsBack) {
  attempt_ = Outbox::Attempt::away;
  outbox_.post("a", "lost");
  outbox_.retry();
  EXPECT_THAT(arrived_, IsEmpty());
  EXPECT_FALSE(outbox_.waits_for_room());
  attempt_ = Outbox::Attempt::sent;
  outbox_.retry();
  EXPECT_THAT(arrived_, ElementsAre("a: lost"));
}

TEST_F(OutboxTest, KeepsTheOrderOfEachMember) {
  attempt_ = Outbox::Attempt::full;
  outbox_.post("a", "first");
  outbox_.post("b", "first");
  EXPECT_TRUE(outbox_.waits_for_room());
  attempt_ = Outbox::Attempt::sent;
  outbox_.post("a", "second");
  EXPECT_THAT(arrived_, ElementsAre("a: first", "a: second"));
  outbox_.retry();
  EXPECT_THAT(arrived_, ElementsAre("a: first", "a: second", "b: first"));
  EXPECT_FALSE(outbox_.waits_for_room());
}

TEST_F(OutboxTest, DropsWhatIsRefusedAndWhatIsForAMemberThatEnded) {
  attempt_ = Outbox::Attempt::refused;
  outbox_.post("a", "lost");
  attempt_ = Outbox::Attempt::away;
  outbox_.post("b", "lost");
  outbox_.forget("b");
  attempt_ = Outbox::Attempt::sent;
  outbox_.retry();
  EXPECT_THAT(arrived_, IsEmpty());
}

TEST_F(OutboxTest, HoldsNoMoreThanItsLimitForOneMember) {
  attempt_ = Outbox::Attempt::away;
  for (std::size_t i = 0; i <= Outbox::kMost; ++i) outbox_.post("a", std::to_string(i));
  attempt_ = Outbox::Attempt::sent;
  outbox_.retry();
  ASSERT_EQ(arrived_.size(), Outbox::kMost);
  EXPECT_EQ(arrived_.front(), "a: 1");
}

}  // namespace
}  // namespace muster::comm::collective
