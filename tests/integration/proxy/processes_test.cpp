// Proxies in real processes: every driver that crosses processes with every store that does.

#include <fstream>
#include <signal.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/comm/driver/registry.h"
#include "muster/comm/errc.h"
#include "tests/integration/proxy/party.h"

namespace muster::comm {
namespace {

using namespace std::chrono_literals;
using test::Child;

struct Pair {
  std::string driver;
  std::string store;
};

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.driver << "_" << pair.store; }

class Processes : public testing::TestWithParam<Pair> {
 protected:
  ProxyOptions options(const std::string& type, std::map<std::string, std::size_t> expected,
                       const std::string& name) {
    ProxyOptions result;
    result.group = "processes";
    result.type = type;
    result.expected_peers = std::move(expected);
    result.name = name;
    result.driver = GetParam().driver;
    result.discovery = place.address();
    result.join_timeout = 20s;
    // So long that only what is noticed at once can be noticed in time.
    result.lease = 60s;
    result.linger = 500ms;
    return result;
  }

  std::unique_ptr<Child> worker(const std::string& name, Duration lease = 60s) {
    auto worker_options = options("worker", {{"master", 1}}, name);
    worker_options.lease = lease;
    return std::make_unique<Child>([worker_options] { serve(worker_options); });
  }

  /// One that begins when it is told. Whoever is forked while this process uses ucx could not.
  std::unique_ptr<Child> later_worker(const std::string& name, const test::Milestone& begin) {
    const auto worker_options = options("worker", {{"master", 1}}, name);
    return std::make_unique<Child>([worker_options, &begin] {
      if (!begin.wait()) ::_exit(5);
      serve(worker_options);
    });
  }

  static Message request(const std::string& to, std::string_view tag = "echo",
                         std::string_view text = "hello") {
    Message message;
    message.tag = tag;
    message.destination = to;
    message.body = Body::text(text);
    return message;
  }

  MeetingPlace place{GetParam().store};
};

TEST_P(Processes, AnswerEachOther) {
  const auto w1 = worker("w1");
  const auto w2 = worker("w2");
  Proxy master = join_or_throw(options("master", {{"worker", 2}}, "master"));
  EXPECT_EQ(master.peers(), (std::map<Name, std::vector<Name>>{{"worker", {"w1", "w2"}}}));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, std::size_t{100'000}, std::size_t{9'000'000}}) {
    const Body body = Body::text(std::string(size, 'x'));
    const auto replies =
        master.scatter("echo", SessionType::task, {{"w1", body}, {"w2", body}}, 20s);
    ASSERT_TRUE(replies.has_value()) << replies.error().message();
    ASSERT_EQ(replies->messages.size(), 2u) << size;
    for (const Message& reply : replies->messages) EXPECT_TRUE(reply.body == body);
  }
  const auto everybody =
      master.broadcast("worker", "echo", SessionType::task, Body::text("all"), 20s);
  EXPECT_EQ(everybody->messages.size(), 2u);
  ASSERT_TRUE(master.ibroadcast("worker", "exit", SessionType::notification).has_value());
  EXPECT_EQ(w1->wait(), 0);
  EXPECT_EQ(w2->wait(), 0);
}

TEST_P(Processes, NoticeAtOnceThatAPeerWasKilled) {
  const auto w1 = worker("w1");
  const auto w2 = worker("w2");
  Proxy master = join_or_throw(options("master", {{"worker", 2}}, "master"));
  const auto sessions = master.iscatter("ignore", SessionType::task, {{"w1", Body()}});
  ASSERT_TRUE(sessions.has_value());
  ASSERT_EQ(master.send(request("w1"), 20s)->messages.size(), 1u)
      << "the ignored one arrived before";
  w1->kill();
  const auto replies = master.receive_by_id(*sessions, 20s);
  ASSERT_TRUE(replies.has_value()) << replies.error().message();
  EXPECT_EQ(replies->lost, std::vector<Name>{"w1"});
  EXPECT_EQ(master.peers(), (std::map<Name, std::vector<Name>>{{"worker", {"w2"}}}));
  const auto refused = master.isend(request("w1"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::peer_connection)) << refused.error().message();
  EXPECT_EQ(master.send(request("w2"), 20s)->messages.size(), 1u);
}

TEST_P(Processes, TakeAPeerBackUnderItsNameWithWhatWasKeptForIt) {
  const auto w1 = worker("w1");
  const auto w2 = worker("w2");
  const auto w3 = worker("w3");
  const test::Milestone begin;
  const auto second_life = later_worker("w1", begin);
  auto master_options = options("master", {{"worker", 3}}, "master");
  master_options.rejoin.enabled = true;
  master_options.rejoin.cache_messages = true;
  Proxy master = join_or_throw(std::move(master_options));
  w1->kill();
  while (master.peers()["worker"].size() == 3) static_cast<void>(master.receive_once(10ms));
  const auto away = master.isend(request("w1", "echo", "kept"));
  ASSERT_FALSE(away.has_value());
  EXPECT_TRUE(away.error().is(Errc::pending)) << away.error().message();
  begin.reach();
  while (master.peers()["worker"].size() < 3) static_cast<void>(master.receive_once(10ms));
  const Body body = Body::text("new");
  const auto replies =
      master.scatter("echo", SessionType::task, {{"w1", body}, {"w2", body}, {"w3", body}}, 20s);
  ASSERT_TRUE(replies.has_value()) << replies.error().message();
  EXPECT_EQ(replies->messages.size(), 4u) << "the kept message is answered too";
  EXPECT_EQ(std::count_if(replies->messages.begin(), replies->messages.end(),
                          [](const Message& reply) { return reply.body.text() == "kept"; }),
            1);
}

TEST_P(Processes, DoNotMeetTheDeadOfAnEarlierRun) {
  {
    const auto w1 = worker("old");
    Proxy master = join_or_throw(options("master", {{"worker", 1}}, "old master"));
    w1->kill();
    if (GetParam().store == "redis") {
      // The master's own entry goes when it closes; the worker's stays until its lease ends.
    }
  }
  const auto w2 = worker("new");
  Proxy master = join_or_throw(options("master", {{"worker", 1}}, "master"));
  EXPECT_EQ(master.peers(), (std::map<Name, std::vector<Name>>{{"worker", {"new"}}}));
  EXPECT_EQ(master.send(request("new"), 20s)->messages.size(), 1u);
}

TEST_P(Processes, LoseAPausedPeerAndTakeItBackAsItWas) {
  const auto w1 = worker("w1", 600ms);
  auto master_options = options("master", {{"worker", 1}}, "master");
  master_options.lease = 600ms;
  Proxy master = join_or_throw(std::move(master_options));
  w1->signal(SIGSTOP);
  const auto sessions = master.isend(request("w1"));
  ASSERT_TRUE(sessions.has_value());
  const auto replies = master.receive_by_id(*sessions, 20s);
  ASSERT_TRUE(replies.has_value());
  EXPECT_EQ(replies->lost, std::vector<Name>{"w1"});
  w1->signal(SIGCONT);
  while (master.peers().empty()) static_cast<void>(master.receive_once(10ms));
  const auto again = master.send(request("w1", "echo", "again"), 20s);
  ASSERT_TRUE(again.has_value()) << again.error().message();
  ASSERT_EQ(again->messages.size(), 1u);
  EXPECT_EQ(again->messages[0].body.text(), "again");
}

TEST_P(Processes, CloseInTimeWithAPeerThatDoesNotListen) {
  const auto w1 = worker("w1");
  {
    Proxy master = join_or_throw(options("master", {{"worker", 1}}, "master"));
    w1->signal(SIGSTOP);
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(master.isend(request("w1", "ignore", std::string(1000, 'x'))).has_value());
    }
    master.close();
    master.close();
  }
  w1->kill();
}

TEST_P(Processes, SayWhoTookTheirName) {
  test::TempDir folder;
  const auto report = folder.path() / "report";
  const auto older_options = options("worker", {{"master", 1}}, "w1");
  Child older([&] {
    Proxy proxy = join_or_throw(older_options);
    while (true) {
      const auto sent = proxy.isend(request("master"));
      const auto received = proxy.receive_once(1ms);
      if (sent && received) continue;
      std::ofstream(report) << (sent ? received.error() : sent.error()).message();
      return;
    }
  });
  const test::Milestone begin;
  const auto newer = later_worker("w1", begin);
  Proxy master = join_or_throw(options("master", {{"worker", 1}}, "master"));
  // Who sends has joined, and does not only seem to.
  ASSERT_TRUE(master.receive_once(10s).value().has_value());
  begin.reach();
  while (!older.ended()) static_cast<void>(master.receive_once(1ms));
  EXPECT_EQ(older.wait(), 0);
  std::ifstream in(report);
  const std::string said{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(said.find("process " + std::to_string(newer->pid()) + " on this host"),
            std::string::npos)
      << said;
}

TEST_P(Processes, DoNotTalkToThoseWithAnotherSecret) {
  for (const auto& [ours, theirs] : {std::pair("one", "two"), {"one", ""}, {"", "two"}}) {
    auto stranger_options = options("worker", {{"master", 1}}, "w1");
    auto master_options = options("master", {{"worker", 1}}, "master");
    stranger_options.security.secret = theirs;
    stranger_options.join_timeout = 30s;
    master_options.security.secret = ours;
    master_options.join_timeout = 1s;
    const Child stranger([&] {
      if (Proxy::join(stranger_options)) ::_exit(7);
    });
    const auto master = Proxy::join(master_options);
    ASSERT_FALSE(master.has_value()) << ours << " and " << theirs;
    EXPECT_TRUE(master.error().is(Errc::discovery_incomplete)) << master.error().message();
    EXPECT_FALSE(stranger.ended());
  }
}

TEST_P(Processes, TalkToThoseWithTheSameSecret) {
  auto worker_options = options("worker", {{"master", 1}}, "w1");
  auto master_options = options("master", {{"worker", 1}}, "master");
  worker_options.security.secret = master_options.security.secret = "open sesame";
  const Child child([&] { serve(worker_options); });
  Proxy master = join_or_throw(master_options);
  EXPECT_EQ(master.send(request("w1", "echo", std::string(1'000'000, 'x')), 20s)->messages.size(),
            1u);
}

TEST_P(Processes, LeaveNothingBehind) {
  if (GetParam().store != "file") return;  // what a Redis server holds ends with its leases
  {
    auto w1 = worker("w1");
    const auto w2 = worker("w2");
    Proxy master = join_or_throw(options("master", {{"worker", 2}}, "master"));
    ASSERT_EQ(master
                  .broadcast("worker", "echo", SessionType::task,
                             Body::text(std::string(1 << 20, 'x')), 20s)
                  ->messages.size(),
              2u);
    w1->kill();
    w2->kill();
    while (!master.peers().empty()) static_cast<void>(master.receive_once(10ms));
  }
  EXPECT_FALSE(std::filesystem::exists(place.folder() / "group.processes")) << "the group's folder";
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
    EXPECT_EQ(file.path().filename().string().find("muster"), std::string::npos) << file.path();
  }
}

std::vector<Pair> pairs() {
  std::vector<Pair> result;
  for (const std::string store : {"file", "redis"}) {
    for (const DriverRow& row : driver_rows()) {
      if (row.name != "inproc" && row.built()) result.push_back({std::string(row.name), store});
    }
    result.push_back({"auto", store});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Pairs, Processes, testing::ValuesIn(pairs()), [](const auto& test) {
  return test.param.driver + "_" + test.param.store;
});

}  // namespace
}  // namespace muster::comm
