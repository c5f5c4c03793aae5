#include "muster/comm/proxy/inbox.h"

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
