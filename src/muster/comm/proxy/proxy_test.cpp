#include "muster/comm/proxy/proxy.h"

#include <filesystem>
#include <future>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/discovery/memory/memory_board.h"
#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

using namespace std::chrono_literals;

// Proxies of one process that find each other through memory.
class ProxyTest : public testing::Test {
 protected:
  ProxyOptions options(const std::string& type, std::map<std::string, std::size_t> expected,
                       const std::string& name = {}) {
    ProxyOptions result;
    result.group = "test";
    result.type = type;
    result.expected_peers = std::move(expected);
    result.name = name;
    result.store = std::make_shared<MemoryStore>(board);
    result.join_timeout = 20s;
    return result;
  }

  static Proxy join(ProxyOptions options) {
    auto proxy = Proxy::join(std::move(options));
    if (!proxy) throw std::runtime_error(proxy.error().message());
    return *std::move(proxy);
  }

  // All at once, as they need each other to join.
  static std::vector<Proxy> join_all(std::vector<ProxyOptions> all) {
    std::vector<std::future<Proxy>> joining;
    for (auto& one : all) {
      joining.push_back(std::async(std::launch::async, [&one] { return join(std::move(one)); }));
    }
    std::vector<Proxy> proxies;
    for (auto& one : joining) proxies.push_back(one.get());
    return proxies;
  }

  std::vector<Proxy> pair() {
    return join_all({options("master", {{"worker", 1}}, "master"),
                     options("worker", {{"master", 1}}, "worker")});
  }

  // What they send has arrived when the other one says so, and each takes few messages in.
  std::vector<Proxy> pair_with_little_room() {
    auto master = options("master", {{"worker", 1}}, "master");
    auto worker = options("worker", {{"master", 1}}, "worker");
    for (ProxyOptions* const one : {&master, &worker}) {
      one->driver = "zmq";
      one->send_timeout = 50ms;
      one->linger = 50ms;
      one->limits.peer_bytes = 1 << 20;
      one->limits.inbox_messages = 4;
    }
    std::vector<ProxyOptions> both;
    both.push_back(std::move(master));
    both.push_back(std::move(worker));
    return join_all(std::move(both));
  }
  // Until there is no room left on the way.
  static void fill(Proxy& from, const Name& to) {
    const std::string text(1000, 'x');
    while (from.isend(message(to, text)).has_value()) continue;
  }

  static Message message(Name destination, std::string_view text = "hello") {
    Message result;
    result.tag = "greet";
    result.destination = std::move(destination);
    result.body = Body::text(text);
    return result;
  }

  static std::size_t open_descriptors() {
    const std::filesystem::directory_iterator descriptors("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(descriptors), end(descriptors)));
  }

  SteadyClock clock;
  std::shared_ptr<MemoryBoard> board = std::make_shared<MemoryBoard>(clock);
};

TEST_F(ProxyTest, SendsARequestAndGetsItsReply) {
  auto proxies = pair();
  Proxy& master = proxies[0];
  Proxy& worker = proxies[1];
  std::jthread serving([&] {
    auto request = worker.receive_once(10s);
    ASSERT_TRUE(request.has_value() && request->has_value());
    EXPECT_EQ((*request)->source, "master");
    EXPECT_TRUE(worker.reply(**request, "done", Body::text("world")).has_value());
  });
  const auto replies = master.send(message("worker"), 10s);
  ASSERT_TRUE(replies.has_value()) << replies.error().message();
  ASSERT_EQ(replies->messages.size(), 1u);
  EXPECT_EQ(replies->messages[0].tag, "done");
  EXPECT_EQ(replies->messages[0].source, "worker");
  EXPECT_EQ(replies->messages[0].body.text(), "world");
  EXPECT_EQ(replies->messages[0].session_stage, SessionStage::complete);
}

TEST_F(ProxyTest, LeavesOtherMessagesToReceive) {
  auto proxies = pair();
  ASSERT_TRUE(proxies[1].isend(message("master", "unrelated")).has_value());
  std::jthread serving([&] {
    const auto request = proxies[1].receive_once(10s);
    EXPECT_TRUE(proxies[1].reply(**request).has_value());
  });
  ASSERT_EQ(proxies[0].send(message("worker"), 10s)->messages.size(), 1u);
  const auto other = proxies[0].receive_once(10s);
  ASSERT_TRUE(other->has_value());
  EXPECT_EQ((*other)->body.text(), "unrelated");
}

TEST_F(ProxyTest, ReturnsEarlyAtTheTimeoutAndTakesTheReplyLater) {
  auto proxies = pair();
  const auto sessions = proxies[0].isend(message("worker"));
  EXPECT_TRUE(proxies[0].receive_by_id(*sessions, 0s)->messages.empty());
  const auto request = proxies[1].receive_once(10s);
  EXPECT_TRUE(proxies[1].reply(**request).has_value()) << "the session is still open";
  const auto late = proxies[0].receive_once(10s);
  ASSERT_TRUE(late->has_value());
  EXPECT_EQ((*late)->session_id, sessions->front());
}

TEST_F(ProxyTest, BroadcastsToPeersThatHaveNotReceivedYet) {
  auto all =
      join_all({options("master", {{"worker", 3}}, "master"), options("worker", {{"master", 1}}),
                options("worker", {{"master", 1}}), options("worker", {{"master", 1}})});
  const auto sessions = all[0].ibroadcast("worker", "start", SessionType::notification);
  ASSERT_TRUE(sessions.has_value());
  EXPECT_EQ(sessions->size(), 3u);
  for (std::size_t i = 1; i < 4; ++i) {
    const auto got = all[i].receive_once(10s);
    ASSERT_TRUE(got->has_value());
    EXPECT_EQ((*got)->destination, all[i].name());
    EXPECT_TRUE(all[i].reply(**got).has_value());
  }
  const auto replies = all[0].receive_by_id(*sessions, 10s);
  ASSERT_EQ(replies->messages.size(), 3u);
  std::set<std::string> sources;
  for (const Message& reply : replies->messages) sources.insert(reply.source.str());
  EXPECT_EQ(sources.size(), 3u) << "each reply carries the replier's own name";
}

TEST_F(ProxyTest, ScattersABodyOfItsOwnToEach) {
  auto all = join_all({options("master", {{"worker", 2}}, "master"),
                       options("worker", {{"master", 1}}, "w1"),
                       options("worker", {{"master", 1}}, "w2")});
  std::jthread serving([&] {
    for (std::size_t i = 1; i < 3; ++i) {
      const auto got = all[i].receive_once(10s);
      EXPECT_TRUE(all[i].reply(**got, {}, (*got)->body).has_value());
    }
  });
  const auto replies = all[0].scatter("work", SessionType::task,
                                      {{"w1", Body::text("one")}, {"w2", Body::text("two")}}, 10s);
  ASSERT_EQ(replies->messages.size(), 2u);
  for (const Message& reply : replies->messages) {
    EXPECT_EQ(reply.body.text(), reply.source == "w1" ? "one" : "two");
  }
}

TEST_F(ProxyTest, SendsNothingOfAScatterThatNamesAStranger) {
  auto proxies = pair();
  const auto result =
      proxies[0].iscatter("work", SessionType::task, {{"worker", Body()}, {"wroker", Body()}});
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::peers_missing));
  EXPECT_FALSE(proxies[1].receive_once(0s)->has_value());
}

TEST_F(ProxyTest, ForwardsWithinTheSession) {
  auto all = join_all({options("master", {{"worker", 2}}, "master"),
                       options("worker", {{"master", 1}, {"worker", 1}}, "w1"),
                       options("worker", {{"master", 1}, {"worker", 1}}, "w2")});
  const auto sessions = all[0].isend(message("w1", "pass me on"));
  const auto at_first = all[1].receive_once(10s);
  ASSERT_TRUE(all[1].forward(**at_first, "w2").has_value());
  const auto at_second = all[2].receive_once(10s);
  ASSERT_TRUE(at_second->has_value());
  EXPECT_EQ((*at_second)->session_id, sessions->front());
  EXPECT_EQ((*at_second)->source, "w1");
  EXPECT_EQ((*at_second)->body.text(), "pass me on");
  ASSERT_TRUE(all[2].reply(**at_second, {}, Body::text("back")).has_value());
  EXPECT_EQ(all[1].receive_by_id(*sessions, 10s)->messages.size(), 1u);
}

TEST_F(ProxyTest, NamesThePeersThatDidNotCome) {
  auto alone = options("learner", {{"actor", 4}});
  alone.join_timeout = 10ms;
  const auto result = Proxy::join(std::move(alone));
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::discovery_incomplete));
  EXPECT_NE(result.error().message().find("only 0 of 4 'actor' found"), std::string::npos)
      << result.error().message();
}

TEST_F(ProxyTest, RefusesToJoinWithoutExpectedPeers) {
  EXPECT_TRUE(Proxy::join(options("learner", {})).error().is(Errc::peers_missing));
}

TEST_F(ProxyTest, RefusesOptionsThatCanNeverBeRight) {
  auto no_group = options("learner", {{"actor", 1}});
  no_group.group = "";
  EXPECT_THROW(static_cast<void>(Proxy::join(no_group)), std::invalid_argument);
  auto no_lease = options("learner", {{"actor", 1}});
  no_lease.lease = 0s;
  EXPECT_THROW(static_cast<void>(Proxy::join(no_lease)), std::invalid_argument);
  EXPECT_THROW(
      static_cast<void>(Proxy::join(options("learner", {{"actor", 1}}, std::string(2000, 'n')))),
      std::invalid_argument);
  auto unknown = options("learner", {{"actor", 1}});
  unknown.driver_options = {{"zmq.protokol", "tcp"}};
  const auto result = Proxy::join(unknown);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("did you mean 'zmq.protocol'"), std::string::npos)
      << result.error().message();
}

TEST_F(ProxyTest, EndsWaitsOfOtherThreadsWhenItCloses) {
  auto proxies = pair();
  auto waiting = std::async(std::launch::async, [&] { return proxies[0].receive_once(); });
  auto asking = std::async(std::launch::async, [&] { return proxies[0].send(message("worker")); });
  ASSERT_TRUE(proxies[1].receive_once(10s)->has_value());
  proxies[0].close();
  EXPECT_TRUE(waiting.get().error().is(Errc::closed));
  EXPECT_TRUE(asking.get().error().is(Errc::closed));
  EXPECT_TRUE(proxies[0].isend(message("worker")).error().is(Errc::closed));
}

TEST_F(ProxyTest, LetsGoOfEveryDescriptorWhenItCloses) {
  for (const char* driver : {"auto", "shm", "zmq"}) {
    const auto join_and_close = [&](const auto& check) {
      auto a = options("master", {{"worker", 1}}, "master");
      auto b = options("worker", {{"master", 1}}, "worker");
      a.driver = b.driver = driver;
      auto proxies = join_all({std::move(a), std::move(b)});
      ASSERT_TRUE(proxies[0].isend(message("worker", "last")).has_value());
      ASSERT_TRUE(proxies[1].receive_once(10s)->has_value());
      for (Proxy& proxy : proxies) proxy.close();
      check(proxies[0]);
    };
    join_and_close([](Proxy&) {});  // what stays for the whole process is made here
    const std::size_t before = open_descriptors();
    join_and_close([&](Proxy& proxy) {
      EXPECT_EQ(open_descriptors(), before) << driver;
      EXPECT_EQ(proxy.counters().sent, 1u);
      EXPECT_TRUE(proxy.receive_once(1s).error().is(Errc::closed));
      EXPECT_TRUE(proxy.isend(message("worker")).error().is(Errc::closed));
      EXPECT_TRUE(proxy.send(message("worker")).error().is(Errc::closed));
      EXPECT_TRUE(proxy.broadcast("worker", "x", SessionType::task).error().is(Errc::closed));
      EXPECT_TRUE(proxy.allocate(10).error().is(Errc::closed));
      EXPECT_TRUE(proxy.peers().empty());
      proxy.close();
    });
  }
}

TEST_F(ProxyTest, MeetsAPeerThatLeavesAsSoonAsItHasJoined) {
  for (const char* driver : {"inproc", "shm", "zmq"}) {
    for (int round = 0; round < 10; ++round) {
      auto a = options("master", {{"worker", 1}}, "master");
      auto b = options("worker", {{"master", 1}}, "worker");
      a.driver = b.driver = driver;
      auto working = std::async(std::launch::async, [&] {
        Proxy worker = join(std::move(b));
        return worker.isend(message("master", "done")).has_value();
      });
      Proxy master = join(std::move(a));
      const auto received = master.receive_once(10s);
      ASSERT_TRUE(received && *received) << driver;
      EXPECT_EQ((*received)->body.text(), "done");
      EXPECT_TRUE(working.get());
    }
  }
}

TEST_F(ProxyTest, TellsAWaiterThatItsPeerLeft) {
  auto proxies = pair();
  auto asking = std::async(std::launch::async, [&] { return proxies[0].send(message("worker")); });
  ASSERT_TRUE(proxies[1].receive_once(10s)->has_value());
  proxies[1].close();
  const auto replies = asking.get();
  ASSERT_TRUE(replies.has_value());
  EXPECT_EQ(replies->lost, std::vector<Name>{"worker"});
  EXPECT_TRUE(proxies[0].peers().empty());
}

TEST_F(ProxyTest, WaitsForRoomInAFullQueue) {
  auto small = options("master", {{"worker", 1}}, "master");
  auto worker_options = options("worker", {{"master", 1}}, "worker");
  worker_options.limits.peer_bytes = 1 << 16;
  worker_options.limits.inbox_messages = 16;
  std::vector<ProxyOptions> both;
  both.push_back(std::move(small));
  both.push_back(std::move(worker_options));
  auto proxies = join_all(std::move(both));
  constexpr std::size_t kMessages = 5000;
  std::jthread flooding([&] {
    for (std::size_t i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(proxies[0].isend(message("worker", std::to_string(i))).has_value());
    }
  });
  for (std::size_t i = 0; i < kMessages; ++i) {
    const auto got = proxies[1].receive_once(10s);
    ASSERT_TRUE(got->has_value()) << i;
    ASSERT_EQ((*got)->body.text(), std::to_string(i));
  }
}

TEST_F(ProxyTest, SaysWhenTheQueueStaysFull) {
  auto sender = options("master", {{"worker", 1}}, "master");
  sender.send_timeout = 20ms;
  auto receiver = options("worker", {{"master", 1}}, "worker");
  receiver.limits.peer_bytes = 1 << 12;
  receiver.limits.inbox_messages = 4;
  std::vector<ProxyOptions> both;
  both.push_back(std::move(sender));
  both.push_back(std::move(receiver));
  auto proxies = join_all(std::move(both));
  Result<std::vector<SessionId>> result;
  for (int i = 0; i < 10'000 && result; ++i) result = proxies[0].isend(message("worker"));
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::would_block));
  EXPECT_NE(result.error().message().find("the queue to 'worker' stayed full"), std::string::npos);
}

TEST_F(ProxyTest, FlushesWhatThePeerTakesIn) {
  auto proxies = pair_with_little_room();
  EXPECT_TRUE(proxies[0].flush(0ms)) << "nothing was sent";
  ASSERT_TRUE(proxies[0].isend(message("worker")).has_value());
  EXPECT_TRUE(proxies[0].flush(20s));
}

TEST_F(ProxyTest, SaysThatThePeerDidNotTakeInWhatWasFlushed) {
  auto proxies = pair_with_little_room();
  fill(proxies[0], "worker");
  EXPECT_FALSE(proxies[0].flush(20ms));
}

TEST_F(ProxyTest, FlushesForNobodyWhoHasLeft) {
  auto proxies = pair_with_little_room();
  fill(proxies[0], "worker");
  auto flushing = std::async(std::launch::async, [&] { return proxies[0].flush(20s); });
  proxies[1].close();
  EXPECT_TRUE(flushing.get());
}

TEST_F(ProxyTest, SaysThatItWasClosedBeforeWhatWasFlushedArrived) {
  auto proxies = pair_with_little_room();
  fill(proxies[0], "worker");
  auto flushing = std::async(std::launch::async, [&] { return proxies[0].flush(20s); });
  proxies[0].close();
  EXPECT_FALSE(flushing.get());
  EXPECT_FALSE(proxies[0].flush(20s));
}

// Neither can take anything in while nobody receives, nor flush while the other one cannot.
TEST_F(ProxyTest, FlushesWhileOtherThreadsMakeRoom) {
  auto proxies = pair_with_little_room();
  fill(proxies[0], "worker");
  fill(proxies[1], "master");
  std::atomic<int> flushing{2};
  const auto receive = [&](Proxy& proxy) {
    while (flushing > 0) EXPECT_TRUE(proxy.receive_once(1ms).has_value());
  };
  const auto flush = [&](Proxy& proxy) {
    EXPECT_TRUE(proxy.flush(20s));
    --flushing;
  };
  std::vector<std::jthread> threads;
  for (Proxy& proxy : proxies) threads.emplace_back([&] { flush(proxy); });
  for (Proxy& proxy : proxies) threads.emplace_back([&] { receive(proxy); });
}

TEST_F(ProxyTest, ServesManyThreads) {
  auto proxies = pair();
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  std::atomic<int> served{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (served < kThreads * kEach) {
        auto request = proxies[1].receive_once(20ms);
        if (!request || !*request) continue;
        EXPECT_TRUE(proxies[1].reply(**request, {}, (*request)->body).has_value());
        ++served;
      }
    });
  }
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string text = std::to_string(t) + "/" + std::to_string(i);
        const auto replies = proxies[0].send(message("worker", text), 20s);
        ASSERT_EQ(replies->messages.size(), 1u);
        ASSERT_EQ(replies->messages[0].body.text(), text);
      }
    });
  }
}

TEST_F(ProxyTest, FailsEveryCallInAChildThatInheritedIt) {
  auto proxies = pair();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = proxies[0].isend(message("worker")).error().is(Errc::forked) &&
                         proxies[0].receive_once(0s).error().is(Errc::forked);
    proxies.clear();  // must do nothing
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(proxies[0].isend(message("worker")).has_value());
  EXPECT_TRUE(proxies[1].receive_once(10s)->has_value());
}

TEST_F(ProxyTest, WaitsForPeersToComeBackAndThenSaysSo) {
  auto master = options("master", {{"worker", 1}}, "master");
  master.rejoin.enabled = true;
  master.rejoin.minimal_peers_timeout = 20ms;
  std::vector<ProxyOptions> both;
  both.push_back(std::move(master));
  both.push_back(options("worker", {{"master", 1}}, "worker"));
  auto proxies = join_all(std::move(both));
  proxies[1].close();
  while (!proxies[0].peers().empty()) static_cast<void>(proxies[0].receive_once(1ms));
  const auto result = proxies[0].isend(message("worker"));
  ASSERT_FALSE(result.has_value());
  EXPECT_TRUE(result.error().is(Errc::rejoin_timeout)) << result.error().message();
  auto returned = join(options("worker", {{"master", 1}}, "worker"));
  while (proxies[0].peers().empty()) static_cast<void>(proxies[0].receive_once(1ms));
  EXPECT_TRUE(proxies[0].isend(message("worker")).has_value());
  EXPECT_TRUE(returned.receive_once(10s)->has_value());
}

TEST_F(ProxyTest, IsOutOfTheGroupWhenAnotherTakesItsName) {
  auto first = options("master", {{"worker", 1}}, "master");
  first.lease = 60ms;
  std::vector<ProxyOptions> both;
  both.push_back(std::move(first));
  both.push_back(options("worker", {{"master", 1}}, "worker"));
  auto proxies = join_all(std::move(both));
  auto second = join(options("master", {{"worker", 1}}, "master"));
  const auto ended = proxies[0].receive_once(10s);
  ASSERT_FALSE(ended.has_value());
  EXPECT_TRUE(ended.error().is(Errc::refused)) << ended.error().message();
  EXPECT_TRUE(second.isend(message("worker")).has_value());
}

}  // namespace
}  // namespace muster::comm
