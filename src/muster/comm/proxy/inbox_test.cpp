#include "muster/comm/proxy/inbox.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

Message message(std::uint64_t session, SessionStage stage, std::string_view text) {
  Message result;
  result.session_id = {InstanceId(1), session};
  result.session_stage = stage;
  result.body = Body::text(text);
  return result;
}

std::string text_of(const std::optional<Message>& message) {
  return message ? std::string(message->body.text()) : "none";
}

TEST(Inbox, GivesMessagesInTheOrderTheyCame) {
  Inbox inbox({});
  inbox.push(message(1, SessionStage::request, "a"));
  inbox.push(message(2, SessionStage::complete, "b"));
  EXPECT_EQ(text_of(inbox.pop()), "a");
  EXPECT_EQ(text_of(inbox.pop()), "b");
  EXPECT_EQ(text_of(inbox.pop()), "none");
}

// region take
TEST(Inbox, TakesOneSessionAndLeavesTheOthersInOrder) {
  Inbox inbox({});
  inbox.push(message(1, SessionStage::complete, "a"));
  inbox.push(message(2, SessionStage::complete, "b"));
  inbox.push(message(1, SessionStage::complete, "c"));
  inbox.push(message(3, SessionStage::request, "d"));
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "b");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "none");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 3})), "d");
  EXPECT_EQ(text_of(inbox.pop()), "a");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 1})), "c");
  EXPECT_EQ(inbox.size(), 0u);
  EXPECT_EQ(inbox.bytes(), 0u);
}
// endregion

TEST(Inbox, TakesAMessageThatWasMadeInItsPlace) {
  Inbox inbox({});
  Message& first = inbox.place();
  first = message(1, SessionStage::request, "a");
  inbox.push(std::move(first));
  Message& second = inbox.place();
  second = message(2, SessionStage::complete, "b");
  inbox.push(std::move(second));
  EXPECT_EQ(inbox.size(), 2u);
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "b");
  EXPECT_EQ(text_of(inbox.pop()), "a");
  EXPECT_EQ(text_of(inbox.pop()), "none");
  EXPECT_EQ(inbox.bytes(), 0u);
}

TEST(Inbox, DoesNotShowAPlaceThatNothingWasPushedTo) {
  Inbox inbox({});
  inbox.push(message(1, SessionStage::request, "a"));
  inbox.place() = message(1, SessionStage::request, "unfinished");
  EXPECT_EQ(inbox.size(), 1u);
  EXPECT_EQ(text_of(inbox.pop()), "a");
  EXPECT_EQ(text_of(inbox.pop()), "none");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 1})), "none");
  // Whatever is pushed next takes the place, wherever it was made.
  inbox.push(message(2, SessionStage::complete, "b"));
  inbox.place() = message(2, SessionStage::complete, "unfinished");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "b");
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "none");
  EXPECT_EQ(inbox.size(), 0u);
}

TEST(Inbox, KeepsPlacesApartWhileItGrowsAndShrinks) {
  Inbox inbox({});
  for (std::uint64_t round = 1; round < 4; ++round) {
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      Message& made = inbox.place();
      made = message(i, i % 3 == 0 ? SessionStage::complete : SessionStage::request, "x");
      if (i % 2 == 0) {
        inbox.push(std::move(made));
      } else {
        inbox.push(message(i, SessionStage::request, "y"));
      }
    }
    static_cast<void>(inbox.place());
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      const auto popped = inbox.pop();
      ASSERT_TRUE(popped.has_value());
      ASSERT_EQ(popped->session_id.number, i);
      ASSERT_EQ(text_of(popped), i % 2 == 0 ? "x" : "y");
    }
    ASSERT_EQ(text_of(inbox.pop()), "none");
  }
}

TEST(Inbox, GivesBackWhatABurstTookThoughAPlaceIsAlwaysAskedForBeforeTheLastMessageGoes) {
  Inbox inbox({});
  for (std::uint64_t i = 1; i <= 5000; ++i) inbox.push(message(i, SessionStage::request, "x"));
  for (std::uint64_t i = 1; i < 5000; ++i) static_cast<void>(inbox.pop());
  auto left = std::make_shared<const std::string>(100, 'x');
  const std::weak_ptr<const std::string> there = left;
  inbox.place().body = Body::bytes(Buffer::share(as_bytes(*left), left));
  left.reset();
  EXPECT_FALSE(there.expired());
  static_cast<void>(inbox.pop());
  EXPECT_TRUE(there.expired());

  inbox.push(message(1, SessionStage::complete, "a"));
  static_cast<void>(inbox.place());
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 1})), "a");
  inbox.push(message(2, SessionStage::complete, "b"));
  EXPECT_EQ(text_of(inbox.take({InstanceId(1), 2})), "b");
  EXPECT_EQ(text_of(inbox.pop()), "none");
}

TEST(Inbox, IsFullByMessagesOrByBytes) {
  QueueLimits limits;
  limits.inbox_messages = 2;
  limits.inbox_bytes = 100;
  Inbox inbox(limits);
  inbox.push(message(1, SessionStage::request, "a"));
  EXPECT_FALSE(inbox.full());
  inbox.push(message(2, SessionStage::request, "b"));
  EXPECT_TRUE(inbox.full());
  static_cast<void>(inbox.pop());
  EXPECT_FALSE(inbox.full());
  inbox.push(message(3, SessionStage::request, std::string(200, 'x')));
  static_cast<void>(inbox.pop());
  EXPECT_TRUE(inbox.full());
}

}  // namespace
}  // namespace muster::comm
