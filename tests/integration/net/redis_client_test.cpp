#include "muster/net/redis/redis_client.h"

#include <array>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/net/errc.h"
#include "muster/net/redis/redis_subscriber.h"
#include "tests/support/redis_server.h"

namespace muster::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RedisServer;
using testing::HasSubstr;
using testing::Not;

constexpr Duration kTimeout = seconds(5);

TimePoint in(Duration duration) { return SteadyClock().now() + duration; }

TEST(RedisClient, CarriesAnyBytes) {
  RedisServer server;
  RedisClient client(server.address(), kTimeout);
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7);
  ASSERT_TRUE(client.command({"SET", bytes, bytes}).has_value());
  EXPECT_EQ(client.command({"GET", bytes})->as_text(), bytes);
}

TEST(RedisClient, KnowsEveryKindOfReply) {
  RedisServer server({.tcp = false});
  RedisClient client(server.address(), kTimeout);
  EXPECT_EQ(client.command({"PING"})->kind, RedisReply::Kind::status);
  EXPECT_EQ(client.command({"GET", "nothing"})->kind, RedisReply::Kind::nil);
  EXPECT_EQ(client.command({"INCR", "n"})->integer, 1);
  const std::array<std::string, 2> keys{"k", "l"};
  const std::array<std::string, 1> arguments{"x"};
  const auto reply = client.eval(
      "return {KEYS[1], KEYS[2], ARGV[1], 7, {false}, redis.error_reply('no')}", keys, arguments);
  ASSERT_TRUE(reply.has_value());
  ASSERT_EQ(reply->elements.size(), 6u);
  EXPECT_EQ(reply->elements[1].text, "l");
  EXPECT_EQ(reply->elements[3].integer, 7);
  EXPECT_EQ(reply->elements[4].elements.front().kind, RedisReply::Kind::nil);
  EXPECT_EQ(reply->elements[5].kind, RedisReply::Kind::error);
}

TEST(RedisClient, PassesOnWhatTheServerComplainsAbout) {
  RedisServer server({.tcp = false});
  RedisClient client(server.address(), kTimeout);
  const auto reply = client.command({"NOSUCHCOMMAND"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::server_error));
  EXPECT_THAT(reply.error().message(), HasSubstr("unknown command"));
  EXPECT_TRUE(client.command({"PING"}).has_value());
}

TEST(RedisClient, LogsInAsAUser) {
  RedisServer server({.tcp = false});
  RedisClient admin(server.address(), kTimeout);
  ASSERT_TRUE(
      admin.command({"ACL", "SETUSER", "ann", "on", ">let-me-in", "~*", "+@all"}).has_value());
  auto address = server.address();
  address.user = "ann";
  address.password = "let-me-in";
  RedisClient ann(address, kTimeout);
  EXPECT_EQ(ann.command({"ACL", "WHOAMI"})->text, "ann");
  address.password = "guess-me";
  const auto reply = RedisClient(address, kTimeout).command({"PING"});
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().is(Errc::auth)) << reply.error().message();
  EXPECT_THAT(reply.error().message(), Not(HasSubstr("guess-me")));
}

TEST(RedisClient, SelectsItsDatabaseAlsoAfterReconnecting) {
  RedisServer server;
  auto address = server.address();
  address.db = 5;
  RedisClient client(address, kTimeout);
  ASSERT_TRUE(client.command({"SET", "k", "v"}).has_value());
  server.restart();
  ASSERT_TRUE(client.command({"SET", "k", "w"}).has_value());
  RedisClient zero(server.address(), kTimeout);
  EXPECT_EQ(zero.command({"DBSIZE"})->integer, 0);
  address.db = 1'000'000;
  EXPECT_TRUE(RedisClient(address, kTimeout).command({"PING"}).error().is(Errc::server_error));
}

TEST(RedisClient, GivesUpOnAPausedServer) {
  RedisServer server;
  RedisClient client(server.address(), milliseconds(50));
  ASSERT_TRUE(client.command({"PING"}).has_value());
  server.pause();
  EXPECT_TRUE(client.command({"ECHO", "late"}).error().is(Errc::timeout));
  server.resume();
  // The late answer is not taken for this one's.
  RedisReply reply;
  const TimePoint deadline = in(seconds(20));
  while (reply.text != "now") {
    ASSERT_LT(SteadyClock().now(), deadline);
    auto answered = client.command({"ECHO", "now"});
    if (answered) reply = *answered;
    ASSERT_NE(reply.text, "late");
  }
}

TEST(RedisClient, SaysWhereNobodyListens) {
  const auto tcp = RedisClient({.host = "127.0.0.1", .port = 1}, kTimeout).command({"PING"});
  EXPECT_TRUE(tcp.error().is(Errc::unreachable));
  EXPECT_THAT(tcp.error().message(), HasSubstr("127.0.0.1:1"));
  const auto unix_socket =
      RedisClient({.unix_path = "/nowhere/redis.sock"}, kTimeout).command({"PING"});
  EXPECT_TRUE(unix_socket.error().is(Errc::unreachable));
  EXPECT_THAT(unix_socket.error().message(), HasSubstr("/nowhere/redis.sock"));
}

/// A server that answers a client's commands with these, one after the other, and then falls
/// silent.
class Impostor {
 public:
  explicit Impostor(std::vector<std::string> answers) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::jthread([this, answers = std::move(answers)] {
      const FileDescriptor peer(::accept(listener_.get(), nullptr, nullptr));
      std::array<char, 1000> command;
      for (const auto& answer : answers) {
        if (::recv(peer.get(), command.data(), command.size(), 0) <= 0) return;
        ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      while (::recv(peer.get(), command.data(), command.size(), 0) > 0) {
      }
    });
  }
  [[nodiscard]] RedisAddress address() const { return {.unix_path = path_}; }

 private:
  test::TempDir folder_;
  std::string path_ = (folder_.path() / "s").string();
  FileDescriptor listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::jthread thread_;
};

TEST(RedisClient, KnowsWhenItIsNotRedisThatAnswers) {
  const Impostor impostor({"220 mail\r\n"});
  RedisClient client(impostor.address(), kTimeout);
  EXPECT_TRUE(client.command({"PING"}).error().is(Errc::protocol));
}

TEST(RedisClient, WaitsForAServerThatStillReadsItsData) {
  const std::string loading = "-LOADING Redis is loading the dataset in memory\r\n";
  {
    const Impostor server({loading, loading, "+PONG\r\n"});
    RedisClient client(server.address(), kTimeout);
    EXPECT_EQ(client.command({"PING"}).value().text, "PONG");
  }
  const Impostor server(std::vector(10'000, loading));
  RedisClient client(server.address(), milliseconds(50));
  EXPECT_THAT(client.command({"PING"}).error().message(), HasSubstr("LOADING"));
}

struct RedisSubscriberTest : testing::Test {
  RedisServer server{{.tcp = false}};
  RedisClient client{server.address(), kTimeout};
  Interrupt interrupt = *Interrupt::create();
  RedisSubscriber subscriber = *RedisSubscriber::open(server.address(), "news", in(kTimeout));
  using Woken = RedisSubscriber::Woken;
};

TEST_F(RedisSubscriberTest, WakesForMessagesOfItsChannel) {
  ASSERT_TRUE(client.command({"PUBLISH", "other", "x"}).has_value());
  EXPECT_EQ(subscriber.wait(in(milliseconds(20)), interrupt).value(), Woken::deadline);
  ASSERT_TRUE(client.command({"PUBLISH", "news", "x"}).has_value());
  EXPECT_EQ(subscriber.wait(in(minutes(1)), interrupt).value(), Woken::message);
  EXPECT_EQ(subscriber.wait(in(Duration(0)), interrupt).value(), Woken::deadline);
}

TEST_F(RedisSubscriberTest, WakesForAnInterrupt) {
  std::jthread other([&] { interrupt.set(); });
  EXPECT_EQ(subscriber.wait(in(minutes(1)), interrupt).value(), Woken::interrupt);
}

TEST_F(RedisSubscriberTest, NoticesThatTheServerDied) {
  server.kill();
  EXPECT_TRUE(subscriber.wait(in(minutes(1)), interrupt).error().is(Errc::unreachable));
}

}  // namespace
}  // namespace muster::net
