#include "muster/comm/proxy/router.h"

#include <gtest/gtest.h>

#include "muster/comm/errc.h"
#include "muster/comm/proxy/scripted_driver.h"

namespace muster::comm {
namespace {

class RouterTest : public testing::Test {
 protected:
  Router& make(RejoinOptions rejoin = {}, RouterFaults faults = {}) {
    router_ = std::make_unique<Router>(
        self, RouterOptions{std::move(rejoin), {}, std::chrono::seconds(3), faults}, clock,
        std::vector<Driver*>{&driver});
    return *router_;
  }

  static Entry entry(const std::string& name, std::uint64_t instance,
                     const std::string& type = "actor") {
    Entry result = local_entry(name, type);
    result.instance = InstanceId(instance);
    result.addresses = {{"scripted", "there"}};
    return result;
  }

  // Sends a request and returns its session.
  std::vector<SessionId> request(const std::string& destination, std::string_view text = "work") {
    Message message;
    message.tag = "do";
    message.destination = destination;
    message.body = Body::text(text);
    SessionIds sessions;
    EXPECT_TRUE(router_->prepare(message).has_value());
    if (router_->try_send(message, sessions) == Router::Step::away)
      last_error = router_->keep(message);
    return sessions;
  }

  // Sends a notification, in a session of its own if none is given.
  SessionId notify(const std::string& destination, SessionId session = {}) {
    Message message;
    message.destination = destination;
    message.session_type = SessionType::notification;
    message.session_id = session;
    SessionIds sessions;
    EXPECT_TRUE(router_->prepare(message).has_value());
    EXPECT_EQ(router_->try_send(message, sessions), Router::Step::sent);
    driver.sent.clear();
    return message.session_id;
  }

  Message reply_to(const SessionId& session, SessionStage stage = SessionStage::complete) {
    Message message;
    message.session_id = session;
    message.message_id = {InstanceId(77), ++reply_number};
    message.session_stage = stage;
    return message;
  }
  Message receipt_of(const SessionId& notification) {
    Message receipt = reply_to(notification, SessionStage::receive);
    receipt.session_type = SessionType::notification;
    return receipt;
  }

  ManualClock clock;
  ScriptedDriver driver;
  Entry self = entry("me", 1, "learner");
  std::optional<Error> last_error;
  std::uint64_t reply_number = 0;

 private:
  std::unique_ptr<Router> router_;
};

TEST_F(RouterTest, ConnectsToWhomTheStoreLists) {
  Router& router = make();
  router.update({entry("a", 10), entry("b", 11), self});
  EXPECT_EQ(router.peers(), (std::map<Name, std::vector<Name>>{{"actor", {"a", "b"}}}));
  EXPECT_EQ(driver.connected.size(), 2u);
  EXPECT_EQ(router.type_of("a"), "actor");
}

TEST_F(RouterTest, SuggestsANameThatWasMistyped) {
  Router& router = make();
  router.update({entry("actor_1", 10)});
  Message message;
  message.destination = "actr_1";
  const auto result = router.prepare(message);
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::peers_missing));
  EXPECT_EQ(result.error().message(),
            "no peer is named 'actr_1' (did you mean 'actor_1'?); known: actor_1");
}

TEST_F(RouterTest, GivesRepliesToWhoWaitsAndTheRestToTheInbox) {
  Router& router = make();
  router.update({entry("a", 10)});
  const auto sessions = request("a");
  Waiter waiter(sessions);
  router.add(waiter);
  Message other;
  other.session_id = {InstanceId(10), 5};
  other.message_id = {InstanceId(10), 5};
  router.on_message(PeerId(0), std::move(other));
  EXPECT_FALSE(waiter.done());
  router.on_message(PeerId(0), reply_to(sessions[0]));
  EXPECT_TRUE(waiter.done());
  router.remove(waiter);
  const auto left = router.pop();
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->source, "a");
  EXPECT_EQ(left->destination, "me");
  EXPECT_FALSE(router.pop().has_value());
}

TEST_F(RouterTest, FindsRepliesThatCameBeforeAnybodyAsked) {
  Router& router = make();
  router.update({entry("a", 10)});
  const auto sessions = request("a");
  router.on_message(PeerId(0), reply_to(sessions[0], SessionStage::receive));
  router.on_message(PeerId(0), reply_to(sessions[0]));
  Waiter waiter(std::vector{sessions[0], sessions[0]});
  router.add(waiter);
  EXPECT_TRUE(waiter.done());
  router.remove(waiter);
}

TEST_F(RouterTest, DropsTheSameReplyTheSecondTime) {
  Router& router = make();
  router.update({entry("a", 10)});
  const auto sessions = request("a");
  router.on_message(PeerId(0), reply_to(sessions[0]));
  router.on_message(PeerId(0), reply_to(sessions[0]));
  EXPECT_EQ(router.inbox_size(), 1u);
  EXPECT_EQ(router.counters().duplicates, 1u);
}

TEST_F(RouterTest, TellsAWaiterThatItsPeerDied) {
  Router& router = make();
  router.update({entry("a", 10), entry("b", 11)});
  auto sessions = request("a");
  for (const auto& session : request("b")) sessions.push_back(session);
  Waiter waiter(sessions);
  router.add(waiter);
  router.on_departure(PeerId(0), Departure::lost, "killed");
  EXPECT_FALSE(waiter.done());
  router.on_message(PeerId(1), reply_to(sessions[1]));
  EXPECT_TRUE(waiter.done());
  router.remove(waiter);
  EXPECT_EQ(waiter.take().lost, std::vector<Name>{"a"});
}

TEST_F(RouterTest, GivesBackWhatACallGotThatEndsWithAnError) {
  Router& router = make();
  router.update({entry("a", 10), entry("b", 11)});
  auto sessions = request("a");
  for (const auto& session : request("b")) sessions.push_back(session);
  Waiter first(sessions);
  router.add(first);
  router.on_message(PeerId(0), reply_to(sessions[0]));
  router.on_departure(PeerId(1), Departure::lost, "killed");
  router.remove(first);
  router.give_back(first);
  Waiter second(sessions);
  router.add(second);
  EXPECT_TRUE(second.done());
  router.remove(second);
  const Replies replies = second.take();
  EXPECT_EQ(replies.messages.size(), 1u);
  EXPECT_EQ(replies.lost, std::vector<Name>{"b"});
}

TEST_F(RouterTest, RemembersAPeerThatCameAndLeftAtOnce) {
  Router& router = make();
  ASSERT_TRUE(router.on_hello(entry("a", 10)).has_value());
  router.on_departure(PeerId(0), Departure::graceful, "left");
  EXPECT_EQ(router.count("actor"), 0u);
  EXPECT_EQ(router.count_met("actor"), 1u);
}

TEST_F(RouterTest, TellsItToWhoAsksLater) {
  Router& router = make();
  router.update({entry("a", 10)});
  const auto sessions = request("a");
  router.on_departure(PeerId(0), Departure::lost, "killed");
  Waiter waiter(sessions);
  router.add(waiter);
  EXPECT_TRUE(waiter.done());
  router.remove(waiter);
  EXPECT_EQ(waiter.take().lost, std::vector<Name>{"a"});
}

TEST_F(RouterTest, RefusesToSendToTheDeadWithoutRejoin) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.on_departure(PeerId(0), Departure::lost, "killed");
  EXPECT_TRUE(request("a").empty());
  ASSERT_TRUE(last_error.has_value());
  EXPECT_TRUE(last_error->is(Errc::peer_connection));
  EXPECT_TRUE(router.peers().empty());
}

TEST_F(RouterTest, KeepsMessagesForAnAbsentPeerAndSendsThemFirst) {
  Router& router = make({.enabled = true, .minimal_peers = {}, .cache_messages = true});
  router.update({entry("a", 10)});
  router.on_departure(PeerId(0), Departure::lost, "killed");
  EXPECT_TRUE(request("a", "first").empty());
  EXPECT_TRUE(last_error->is(Errc::pending));
  router.update({entry("a", 20)});
  EXPECT_EQ(request("a", "second").size(), 2u);
  ASSERT_EQ(driver.sent.size(), 2u);
  EXPECT_EQ(driver.sent[0].second.body.text(), "first");
  EXPECT_EQ(driver.sent[1].second.body.text(), "second");
  EXPECT_EQ(router.counters().rejoins, 1u);
}

TEST_F(RouterTest, RecoversWhatWasOnItsWayWhenThePeerDied) {
  Router& router = make({.enabled = true, .minimal_peers = {}, .cache_messages = true});
  router.update({entry("a", 10)});
  request("a", "first");
  driver.undelivered = {driver.sent[0].second};
  driver.sent.clear();
  router.on_departure(PeerId(0), Departure::lost, "killed");
  router.update({entry("a", 20)});
  EXPECT_EQ(request("a", "second").size(), 2u);
  EXPECT_EQ(driver.sent[0].second.body.text(), "first");
}

TEST_F(RouterTest, RefusesMoreThanTheCacheHolds) {
  Router& router =
      make({.enabled = true, .minimal_peers = {}, .cache_messages = true, .cache_length = 2});
  router.update({entry("a", 10)});
  router.on_departure(PeerId(0), Departure::lost, "killed");
  request("a");
  request("a");
  request("a");
  EXPECT_TRUE(last_error->is(Errc::would_block)) << last_error->message();
}

TEST_F(RouterTest, DoesNotTakeBackANameThatCameBackTooOften) {
  Router& router = make({.enabled = true, .minimal_peers = {}, .max_rejoins = 2});
  for (std::uint64_t life = 0; life < 4; ++life) {
    router.update({entry("a", 10 + life)});
    if (!router.peers().empty())
      router.on_departure(PeerId(static_cast<std::uint32_t>(life)), Departure::lost, "killed");
  }
  EXPECT_EQ(driver.connected.size(), 0u);
  EXPECT_EQ(router.counters().rejoins, 2u);
}

TEST_F(RouterTest, DoesNotCountAFailedConnectionAsAReturn) {
  Router& router = make({.enabled = true, .minimal_peers = {}, .max_rejoins = 1});
  driver.refuses = true;
  for (int i = 0; i < 10; ++i) router.update({entry("a", 10)});
  EXPECT_TRUE(router.peers().empty());
  driver.refuses = false;
  router.update({entry("a", 11)});
  EXPECT_EQ(router.count("actor"), 1u);
}

TEST_F(RouterTest, ResumesASilentPeerAsItWas) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.update({});
  clock.advance(std::chrono::seconds(1));
  router.poll();
  EXPECT_TRUE(router.peers().empty());
  EXPECT_EQ(driver.connected.size(), 1u) << "its queue must survive";
  router.update({entry("a", 10)});
  EXPECT_EQ(router.count("actor"), 1u);
  clock.advance(std::chrono::hours(1));
  router.poll();
  EXPECT_EQ(router.count("actor"), 1u);
}

TEST_F(RouterTest, TakesWhatAPeerSentBeforeItLeftTheGroup) {
  Router& router = make();
  router.update({entry("a", 10)});
  const auto sessions = request("a");
  Waiter waiter(sessions);
  router.add(waiter);
  router.update({});
  router.on_message(PeerId(0), reply_to(sessions.at(0)));
  EXPECT_TRUE(waiter.done());
  EXPECT_TRUE(waiter.take().lost.empty());
  router.remove(waiter);
}

TEST_F(RouterTest, KeepsAPeerThatTheStoreListsAgainAtOnce) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.update({});
  router.update({entry("a", 10)});
  clock.advance(std::chrono::hours(1));
  router.poll();
  EXPECT_EQ(router.count("actor"), 1u);
  EXPECT_EQ(router.counters().rejoins, 0u);
}

TEST_F(RouterTest, ForgetsASilentPeerInTheEnd) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.update({});
  clock.advance(std::chrono::seconds(1));
  router.poll();
  clock.advance(std::chrono::hours(1));
  ASSERT_TRUE(router.next_wakeup().has_value());
  router.poll();
  EXPECT_TRUE(driver.connected.empty());
  EXPECT_FALSE(router.next_wakeup().has_value());
}

TEST_F(RouterTest, DoesNotLetAnEarlierLifePushOutTheNewOne) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.update({entry("a", 20)});
  EXPECT_EQ(router.on_hello(entry("a", 10)), std::nullopt);
  EXPECT_EQ(router.on_hello(entry("a", 20)), PeerId(1));
}

TEST_F(RouterTest, DoesNotLetALateKnockOfTheDeadPushOutTheLiving) {
  Router& router = make();
  Entry dead = entry("a", 10);
  Entry living = entry("a", 20);
  dead.born = 1;
  living.born = 2;
  router.update({living});
  EXPECT_EQ(router.on_hello(dead), std::nullopt);
  EXPECT_EQ(router.on_hello(living), PeerId(0));
}

TEST_F(RouterTest, TakesAPeerThatKnocksBeforeTheStoreShowsIt) {
  Router& router = make();
  EXPECT_EQ(router.on_hello(entry("early", 10)), PeerId(0));
  router.update({});
  EXPECT_EQ(router.count("actor"), 1u) << "the list may be older than the knock";
}

TEST_F(RouterTest, DoesNotLetAListThatIsOlderThanAKnockPushOutWhoKnocked) {
  Router& router = make();
  const Entry dead = entry("a", 10);
  const Entry living = entry("a", 20);
  router.update({});
  // The list was asked for while the dead one lived, and is applied when its successor has knocked.
  ASSERT_TRUE(router.on_hello(living).has_value());
  router.update({dead});
  EXPECT_EQ(router.instance_of("a"), living.instance);
  router.update({living});
  EXPECT_EQ(router.instance_of("a"), living.instance);
  EXPECT_EQ(driver.connected.size(), 1u);
}

TEST_F(RouterTest, BelievesTheListAfterThatOne) {
  Router& router = make();
  const Entry first = entry("a", 10);
  const Entry second = entry("a", 20);
  ASSERT_TRUE(router.on_hello(first).has_value());
  router.update({second});
  router.update({second});
  EXPECT_EQ(router.instance_of("a"), second.instance);
}

TEST_F(RouterTest, DoesNotTakeBackAPeerWhoseProcessEnded) {
  for (const bool silent : {false, true}) {
    Router& router = make();
    router.update({entry("a", 10)});
    if (silent) router.on_departure(PeerId(0), Departure::silent, "it says nothing");
    router.process_exited(PeerId(0));
    router.update({entry("a", 10)});  // asked for before it ended
    router.on_message(PeerId(0), reply_to({InstanceId(10), 5}, SessionStage::request));
    router.on_departure(PeerId(0), Departure::silent, "it says nothing");
    clock.advance(std::chrono::seconds(1));
    router.poll();
    EXPECT_TRUE(driver.connected.empty());
    EXPECT_EQ(router.on_hello(entry("a", 10)), std::nullopt);
  }
}

TEST_F(RouterTest, AnswersASilentPeerWhichMayComeBackAndWaitForIt) {
  Router& router = make({.enabled = true, .minimal_peers = {}});
  router.update({entry("a", 10)});
  Message task;
  task.tag = "do";
  task.source = "a";
  task.session_id = {InstanceId(10), 5};
  task.message_id = {InstanceId(10), 5};
  router.on_departure(PeerId(0), Departure::silent, "it says nothing");
  const auto reply = router.make_reply(task, {}, {}, Acknowledge::no);
  ASSERT_TRUE(reply.has_value());
  SessionIds sessions;
  EXPECT_EQ(router.try_send(*reply, sessions), Router::Step::sent);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0], task.session_id);
  ASSERT_EQ(driver.sent.size(), 1u);
  EXPECT_TRUE(request("a").empty()) << "nobody would wait for its reply";
  driver.status = SendStatus::full;
  EXPECT_EQ(router.try_send(*reply, sessions), Router::Step::away) << "it might never make room";
}

TEST_F(RouterTest, HearsTheLastWordsOfAProcessThatEnded) {
  Router& router = make();
  router.update({entry("a", 10)});
  router.process_exited(PeerId(0));
  Message last;
  last.session_id = {InstanceId(10), 5};
  last.message_id = {InstanceId(10), 5};
  router.on_message(PeerId(0), std::move(last));
  EXPECT_EQ(router.inbox_size(), 1u);
  clock.advance(std::chrono::seconds(1));
  router.poll();
  EXPECT_EQ(router.count("actor"), 0u);
}

TEST_F(RouterTest, RefusesASecondReplyAndAllowsOneThatFailedToBeSentAgain) {
  Router& router = make();
  router.update({entry("a", 10)});
  Message task;
  task.tag = "do";
  task.source = "a";
  task.session_id = {InstanceId(10), 5};
  task.message_id = {InstanceId(10), 5};
  const SessionStage before = router.stage_of(task);
  auto reply = router.make_reply(task, {}, {}, Acknowledge::no);
  ASSERT_TRUE(reply.has_value());
  router.undo_reply(*reply, before);
  reply = router.make_reply(task, "done", {}, Acknowledge::yes);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->session_stage, SessionStage::receive);
  EXPECT_EQ(reply->tag, "done");
  EXPECT_TRUE(router.make_reply(task, {}, {}, Acknowledge::no).has_value());
  const auto again = router.make_reply(task, {}, {}, Acknowledge::no);
  ASSERT_FALSE(again.has_value());
  EXPECT_TRUE(again.error().is(Errc::session_closed));
  EXPECT_EQ(
      again.error().message(),
      "reply to 'do' from 'a': the task session has ended; 'complete' cannot follow 'complete'");
}

TEST_F(RouterTest, TellsOfEveryNotificationThatTheDeadDidNotAcknowledge) {
  Router& router = make();
  router.update({entry("a", 10), entry("b", 11)});
  constexpr std::size_t kCount = 100'000;
  std::vector<SessionId> missing;
  for (std::size_t i = 0; i < kCount; ++i) {
    const SessionId session = notify("a");
    if (i % 3 == 0) {
      missing.push_back(session);
    } else {
      router.on_message(PeerId(0), receipt_of(session));
      EXPECT_TRUE(router.pop().has_value());
    }
    notify("b");
  }
  const std::size_t half = missing.size() / 2;
  const std::span<const SessionId> all(missing);
  Waiter first(all.first(half));
  router.add(first);
  router.on_departure(PeerId(0), Departure::lost, "killed");
  EXPECT_TRUE(first.done()) << first.missing();
  router.remove(first);
  Waiter second(all.subspan(half));
  router.add(second);
  EXPECT_TRUE(second.done()) << second.missing();
  router.remove(second);
  EXPECT_EQ(first.take().lost, std::vector<Name>(half, "a"));
}

TEST_F(RouterTest, DoesNotTakeABroadcastThatTheDeadAcknowledgedForLost) {
  Router& router = make();
  router.update({entry("a", 10), entry("b", 11)});
  std::vector<SessionId> sessions;
  for (int i = 0; i < 40'000; ++i) {
    sessions.push_back(notify("a"));
    notify("b", sessions.back());
  }
  for (const SessionId& session : sessions) {
    router.on_message(PeerId(0), receipt_of(session));
    EXPECT_TRUE(router.pop().has_value());
  }
  Waiter waiter(sessions);
  router.add(waiter);
  router.on_departure(PeerId(0), Departure::lost, "killed");
  EXPECT_EQ(waiter.missing(), sessions.size()) << "b may still answer";
  router.on_departure(PeerId(1), Departure::lost, "killed");
  EXPECT_TRUE(waiter.done());
  router.remove(waiter);
}

TEST_F(RouterTest, ForgetsThoseWhoLeftLongAgoAndStillRefusesThem) {
  Router& router = make();
  std::vector<Entry> lives;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    lives.push_back(entry("actor_" + std::to_string(i), 10 + i));
    lives.back().born = 1000 + i;
    router.update({lives.back()});
    router.on_departure(PeerId(i), Departure::lost, "killed");
  }
  EXPECT_LE(router.remembered(), 20'000u);
  EXPECT_EQ(router.on_hello(lives.front()), std::nullopt) << "a knock that took very long";
  EXPECT_EQ(router.on_hello(lives.back()), std::nullopt);
  router.update({lives.back()});
  EXPECT_TRUE(router.peers().empty()) << "its lease has not run out yet";
  router.update({entry("actor_0", 7)});
  EXPECT_EQ(router.count("actor"), 1u) << "a new life under an old name";
}

TEST_F(RouterTest, RemembersOneNameThatComesAndGoesForEver) {
  Router& router = make({.enabled = true, .minimal_peers = {}, .max_rejoins = 1'000'000});
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    Entry life = entry("actor", 10 + i);
    life.born = 1000 + i;
    router.update({life});
    router.on_departure(PeerId(i), Departure::lost, "killed");
  }
  EXPECT_LE(router.remembered(), 20'000u);
  EXPECT_EQ(router.type_of("actor"), "actor");
  EXPECT_EQ(router.counters().rejoins, 49'999u);
}

TEST_F(RouterTest, SaysThatTheProcessOfASilentPeerStillRuns) {
  Router& router = make();
  Entry paused = entry("a", 10);
  paused.process = "another";
  router.update({paused});
  router.update({});
  clock.advance(std::chrono::seconds(1));
  router.poll();
  request("a");
  ASSERT_TRUE(last_error.has_value());
  EXPECT_TRUE(last_error->is(Errc::peer_connection));
  EXPECT_NE(last_error->message().find("its process " + std::to_string(paused.pid) +
                                       " on this host still runs"),
            std::string::npos)
      << last_error->message();
  EXPECT_EQ(last_error->message().find("gone"), std::string::npos) << "it may come back";
}

}  // namespace
}  // namespace muster::comm
