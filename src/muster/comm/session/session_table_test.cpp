#include "muster/comm/session/session_table.h"

#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

const InstanceId kMe(1);
const InstanceId kOther(2);
const PeerId kPeer(0);

Message request(std::uint64_t number, SessionType type = SessionType::task,
                InstanceId origin = kMe) {
  Message message;
  message.session_id = {origin, number};
  message.message_id = {origin, number};
  message.session_type = type;
  return message;
}

Message reply_to(Message message, SessionStage stage, std::uint64_t message_number = 1000) {
  message.message_id = {kOther, message_number};
  message.session_stage = stage;
  return message;
}

TEST(SessionTable, DeliversAReceiptAndAResultOnceEach) {
  SessionTable table;
  const Message task = request(1);
  ASSERT_TRUE(table.open(task, kPeer).has_value());
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::receive), kPeer), Arrival::fresh);
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::receive), kPeer), Arrival::duplicate);
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::complete), kPeer), Arrival::fresh);
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::complete), kPeer), Arrival::duplicate);
  EXPECT_EQ(table.open_tasks(), 0u);
}

TEST(SessionTable, RecognisesARepeatedRequest) {
  SessionTable table;
  const Message task = request(1, SessionType::task, kOther);
  EXPECT_EQ(table.arrive(task, kPeer), Arrival::fresh);
  EXPECT_EQ(table.arrive(task, kPeer), Arrival::duplicate);
}

TEST(SessionTable, RefusesASecondResult) {
  SessionTable table;
  const Message task = request(1, SessionType::task, kOther);
  table.arrive(task, kPeer);
  const Message result = reply_to(task, SessionStage::complete);
  EXPECT_TRUE(table.reply(result).has_value());
  EXPECT_TRUE(table.reply(result).error().is(Errc::session_closed));
}

TEST(SessionTable, LetsAReplyBeTriedAgainWhenItCouldNotBeSent) {
  SessionTable table;
  const Message task = request(1, SessionType::task, kOther);
  table.arrive(task, kPeer);
  const Message result = reply_to(task, SessionStage::complete);
  const SessionStage before = table.stage_of(task);
  ASSERT_TRUE(table.reply(result).has_value());
  table.undo_reply(result, before);
  EXPECT_TRUE(table.reply(result).has_value());
}

TEST(SessionTable, KeepsABroadcastApartByPeer) {
  SessionTable table;
  const Message task = request(1);
  for (std::uint32_t peer = 0; peer < 3; ++peer)
    ASSERT_TRUE(table.open(task, PeerId(peer)).has_value());
  for (std::uint32_t peer = 0; peer < 3; ++peer) {
    EXPECT_EQ(table.arrive(reply_to(task, SessionStage::complete), PeerId(peer)), Arrival::fresh);
    EXPECT_EQ(table.arrive(reply_to(task, SessionStage::complete), PeerId(peer)),
              Arrival::duplicate);
  }
}

TEST(SessionTable, KeepsAnOpenTaskThroughAFloodOfNotifications) {
  SessionTable table;
  const Message task = request(1);
  ASSERT_TRUE(table.open(task, kPeer).has_value());
  for (std::uint64_t i = 2; i < 3 * SessionTable::kWindow; ++i) {
    ASSERT_TRUE(table.open(request(i, SessionType::notification), kPeer).has_value());
  }
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::receive), kPeer), Arrival::fresh);
  EXPECT_EQ(table.arrive(reply_to(task, SessionStage::receive), kPeer), Arrival::duplicate);
  EXPECT_FALSE(table.lose(kPeer, "peer").empty());
  EXPECT_EQ(table.open_tasks(), 0u);
}

TEST(SessionTable, TakesAReceiptOnce) {
  SessionTable table;
  const Message notification = request(1, SessionType::notification);
  ASSERT_TRUE(table.open(notification, kPeer).has_value());
  const Message receipt = reply_to(notification, SessionStage::receive);
  EXPECT_EQ(table.arrive(receipt, PeerId(5)), Arrival::fresh) << "it may have been forwarded";
  EXPECT_EQ(table.arrive(receipt, kPeer), Arrival::fresh);
  EXPECT_EQ(table.arrive(receipt, kPeer), Arrival::duplicate);
}

TEST(SessionTable, NamesWhoOwesTheReceiptOfANotificationThatWasSent) {
  SessionTable table;
  const Message sent = request(1, SessionType::notification);
  const Message unsent = request(2, SessionType::notification);
  ASSERT_TRUE(table.open(sent, kPeer).has_value());
  ASSERT_TRUE(table.open(unsent, kPeer).has_value());
  table.cancel(unsent, kPeer);
  EXPECT_TRUE(table.lose(kPeer, "peer").empty()) << "only tasks are told at once";
  EXPECT_EQ(table.take_lost(sent.session_id), Name("peer"));
  EXPECT_EQ(table.take_lost(unsent.session_id), std::nullopt);
}

TEST(SessionTable, ForgetsARequestThatCouldNotBeSent) {
  SessionTable table;
  ASSERT_TRUE(table.open(request(1), kPeer).has_value());
  table.cancel(request(1), kPeer);
  EXPECT_EQ(table.open_tasks(), 0u);
  EXPECT_TRUE(table.lose(kPeer, "peer").empty());
}

TEST(SessionTable, NamesTheSessionsThatALostPeerOwes) {
  SessionTable table;
  ASSERT_TRUE(table.open(request(1), kPeer).has_value());
  ASSERT_TRUE(table.open(request(2), kPeer).has_value());
  ASSERT_TRUE(table.open(request(3), PeerId(5)).has_value());
  table.arrive(reply_to(request(1), SessionStage::complete), kPeer);
  EXPECT_EQ(table.lose(kPeer, "peer"), std::vector<SessionId>{request(2).session_id});
  EXPECT_EQ(table.lose(kPeer, "peer"), std::vector<SessionId>{});
  EXPECT_EQ(table.open_tasks(), 1u);
}

}  // namespace
}  // namespace muster::comm
