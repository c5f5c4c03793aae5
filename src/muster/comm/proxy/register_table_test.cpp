#include "muster/comm/proxy/register_table.h"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Message event_message(const char* source, const char* tag, const char* text = "") {
  Message out;
  out.source = source;
  out.tag = tag;
  out.body = Body::text(text);
  return out;
}

std::vector<std::string> texts(const std::vector<Message>& messages) {
  std::vector<std::string> out;
  for (const Message& m : messages) out.emplace_back(m.body.text());
  return out;
}

const PeersByType kWorkers{{"worker", {"worker_1", "worker_2", "worker_3"}}};

class RegisterTableTest : public testing::Test {
 protected:
  RegisterTable::Handler record() {
    return [this](const std::vector<Message>& messages) { calls_.push_back(texts(messages)); };
  }

  std::vector<std::vector<std::string>> calls_;
};

TEST_F(RegisterTableTest, CallsAHandlerWithTheMessagesOfItsEvent) {
  RegisterTable table(kWorkers);
  table.on("worker:update:2", record()).on("worker_3:update:1", record());
  EXPECT_EQ(table.push(event_message("worker_1", "update", "a")), true);
  EXPECT_EQ(table.trigger(), 0u);
  EXPECT_EQ(table.push(event_message("worker_3", "update", "b")), true);
  EXPECT_EQ(table.trigger(), 2u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("a", "b"), ElementsAre("b")));
  EXPECT_EQ(table.waiting(), 0u);
}

TEST_F(RegisterTableTest, SaysWhenNoEventAsksForAMessage) {
  RegisterTable table(kWorkers);
  table.on("worker:update:2", record());
  EXPECT_EQ(table.push(event_message("worker_1", "other")), false);
  EXPECT_EQ(table.push(event_message("stranger", "update")), false);
  EXPECT_EQ(table.waiting(), 0u);
}

TEST_F(RegisterTableTest, MatchesAStrangerByNameAndWildcardOnly) {
  RegisterTable table(kWorkers);
  table.on("stranger:*:1", record()).on("*:*:1", record()).on("worker:*:1", record());
  EXPECT_EQ(table.push(event_message("stranger", "t")), true);
  EXPECT_EQ(table.trigger(), 2u);
}

TEST_F(RegisterTableTest, FollowsThePeersThatItsCallbackGives) {
  PeersByType peers = kWorkers;
  RegisterTable table(PeerSource{.peers = [&] { return peers; }});
  table.on("worker:update:100%", record());
  peers["worker"].push_back("worker_4");
  for (const char* source : {"worker_1", "worker_2", "worker_4"})
    EXPECT_EQ(table.push(event_message(source, "update", source)), true);
  EXPECT_EQ(table.trigger(), 0u);
  peers["worker"].erase(peers["worker"].begin());
  EXPECT_EQ(table.trigger(), 1u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("worker_1", "worker_2", "worker_4")));
}

TEST_F(RegisterTableTest, AsksForThePeersOnlyWhenTheirVersionChanges) {
  int asked = 0;
  std::uint64_t version = 1;
  RegisterTable table(
      PeerSource{.peers = [&] { return ++asked, kWorkers; }, .version = [&] { return version; }});
  table.on("worker:update:50%", record());
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(table.push(event_message("worker_1", "update")).has_value());
  EXPECT_EQ(asked, 1);
  version = 2;
  EXPECT_EQ(table.trigger(), 5u);
  EXPECT_EQ(asked, 2);
}

TEST_F(RegisterTableTest, KnowsTheTypeOfAPeerThatHasLeft) {
  PeersByType peers = kWorkers;
  RegisterTable table(PeerSource{.peers = [&] { return peers; }});
  table.on("worker:bye:1", record());
  peers.clear();
  EXPECT_EQ(table.push(event_message("worker_1", "bye")), true);
  EXPECT_EQ(table.trigger(), 1u);
}

TEST_F(RegisterTableTest, CountsAPeerOnceThatIsNamedLikeAType) {
  RegisterTable table(PeersByType{{"solo", {"solo"}}, {"pair", {"p1", "p2"}}, {"odd", {"pair"}}});
  table.on("solo:t:100%", record()).on("pair:t:100%", record()).on("*:t:100%", record());
  ASSERT_TRUE(table.push(event_message("solo", "t", "1")).has_value());
  for (const char* source : {"p1", "p2", "pair"})
    ASSERT_TRUE(table.push(event_message(source, "t", source)).has_value());
  EXPECT_EQ(table.trigger(), 3u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("1"), ElementsAre("p1", "p2", "pair"),
                                  ElementsAre("1", "p1", "p2", "pair")));
}

TEST_F(RegisterTableTest, GivesHandlersAndMessagesToTheCaller) {
  RegisterTable table(kWorkers);
  table.on("worker:a:1", record()).on("worker:*:2", record());
  ASSERT_TRUE(table.push(event_message("worker_1", "a", "1")).has_value());
  ASSERT_TRUE(table.push(event_message("worker_1", "b", "2")).has_value());
  auto triggered = table.get();
  ASSERT_EQ(triggered.size(), 2u);
  EXPECT_THAT(texts(triggered[0].messages), ElementsAre("1"));
  EXPECT_THAT(texts(triggered[1].messages), ElementsAre("1", "2"));
  triggered[0].handler(std::move(triggered[0].messages));
  EXPECT_EQ(calls_.size(), 1u);
  EXPECT_THAT(table.get(), IsEmpty());
}

TEST_F(RegisterTableTest, ForgetsItsMessagesWhenCleared) {
  RegisterTable table(kWorkers);
  table.on("worker:a:2", record()).on("worker:a:1", record());
  ASSERT_TRUE(table.push(event_message("worker_1", "a", "1")).has_value());
  table.clear();
  EXPECT_EQ(table.trigger(), 0u);
  ASSERT_TRUE(table.push(event_message("worker_1", "a", "2")).has_value());
  EXPECT_EQ(table.trigger(), 1u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("2")));
}

TEST_F(RegisterTableTest, LetsAHandlerUseTheTable) {
  RegisterTable table(kWorkers);
  table.on("worker:ping:1", [&](std::vector<Message>) {
    table.on("worker:pong:1", record());
    ASSERT_TRUE(table.push(event_message("worker_2", "pong", "p")).has_value());
  });
  ASSERT_TRUE(table.push(event_message("worker_1", "ping")).has_value());
  EXPECT_EQ(table.trigger(), 2u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("p")));
}

TEST_F(RegisterTableTest, GoesOnAfterAHandlerThatThrows) {
  RegisterTable table(kWorkers);
  table.on("worker:a:1", [](std::vector<Message>) { throw std::runtime_error("no"); })
      .on("worker:a:1", record());
  ASSERT_TRUE(table.push(event_message("worker_1", "a", "1")).has_value());
  EXPECT_THROW(table.trigger(), std::runtime_error);
  EXPECT_EQ(table.trigger(), 1u);
  EXPECT_THAT(calls_, ElementsAre(ElementsAre("1")));
}

TEST_F(RegisterTableTest, RefusesMoreThanMayWait) {
  RegisterTable table(kWorkers, {.max_waiting = 2});
  table.on("worker:a:10", record());
  EXPECT_TRUE(table.push(event_message("worker_1", "a")).has_value());
  EXPECT_TRUE(table.push(event_message("worker_1", "a")).has_value());
  const auto refused = table.push(event_message("worker_1", "a"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::would_block));
  EXPECT_EQ(table.push(event_message("worker_1", "b")), false);
}

TEST_F(RegisterTableTest, ThrowsForAHandlerThatIsNone) {
  RegisterTable table(kWorkers);
  EXPECT_THROW(table.on("worker:a:1", nullptr), std::invalid_argument);
  EXPECT_THROW(table.on("worker:a", record()), EventSyntaxError);
}

}  // namespace
}  // namespace muster::comm
