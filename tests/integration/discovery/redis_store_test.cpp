#include "muster/comm/discovery/redis/redis_store.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/discovery/open_store.h"
#include "muster/comm/errc.h"
#include "muster/net/redis/redis_client.h"
#include "tests/support/redis_server.h"

namespace muster::comm {
namespace {

using net::RedisClient;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RedisServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kLong = minutes(5);

TimePoint in(Duration duration) { return SteadyClock().now() + duration; }

template <class Predicate>
bool eventually(Predicate predicate) {
  const TimePoint deadline = in(seconds(20));
  while (!predicate()) {
    if (SteadyClock().now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

std::unique_ptr<Store> open(const net::RedisAddress& address) {
  return make_redis_store(address).value();
}

TEST(RedisStore, RegistersAgainAfterTheServerLostEverything) {
  RedisServer server;
  auto a = open(server.address());
  auto b = open(server.address());
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  ASSERT_THAT(b->list("g").value(), ElementsAre(entry));
  server.restart();
  EXPECT_THAT(b->list("g").value(), IsEmpty());
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  EXPECT_THAT(b->list("g").value(), ElementsAre(entry));
}

TEST(RedisStore, AMemberTakesNobodyForLostWhoHasNotYetRegisteredAgain) {
  RedisServer server;
  auto a = open(server.address());
  auto b = open(server.address());
  const Entry first = local_entry("a", "actor");
  const Entry second = local_entry("b", "actor");
  const Entry successor = local_entry("b", "actor");
  ASSERT_TRUE(a->put("g", first, kLong).has_value());
  ASSERT_TRUE(b->put("g", second, kLong).has_value());
  ASSERT_THAT(a->list("g").value(), ElementsAre(first, second));
  server.restart();
  EXPECT_THAT(a->list("g").value(), ElementsAre(first, second));
  ASSERT_TRUE(a->put("g", first, kLong).has_value());
  EXPECT_THAT(a->list("g").value(), ElementsAre(first, second));
  server.restart();
  EXPECT_THAT(a->list("g").value(), ElementsAre(first, second)) << "and again";
  ASSERT_TRUE(b->put("g", successor, kLong).has_value());
  EXPECT_THAT(a->list("g").value(), ElementsAre(first, successor));
}

TEST(RedisStore, AMemberBelievesALeaseAfterTheServerLostEverythingThatTheOthersAreGone) {
  RedisServer server;
  auto a = open(server.address());
  auto b = open(server.address());
  const Entry first = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", first, milliseconds(100)).has_value());
  ASSERT_TRUE(b->put("g", local_entry("b", "actor"), kLong).has_value());
  ASSERT_EQ(a->list("g")->size(), 2u);
  server.restart();
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(a->put("g", first, milliseconds(100)).has_value());
    return a->list("g").value() == std::vector{first};
  }));
}

TEST(RedisStore, TheNewerInstanceWinsEvenAfterTheServerLostEverything) {
  RedisServer server({.tcp = false});
  auto a = open(server.address());
  auto b = open(server.address());
  const Entry old = local_entry("a", "actor");
  const Entry fresh = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", old, kLong).has_value());
  ASSERT_TRUE(b->put("g", fresh, kLong).has_value());
  server.restart();
  // The old one has not heard yet that it was replaced, and comes first.
  ASSERT_TRUE(a->put("g", old, kLong).has_value());
  ASSERT_TRUE(b->put("g", fresh, kLong).has_value());
  EXPECT_THAT(a->list("g").value(), ElementsAre(fresh));
  EXPECT_TRUE(a->put("g", old, kLong).error().is(Errc::refused));
}

TEST(RedisStore, AWaiterSeesTheServerComeBack) {
  RedisServer server;
  auto a = open(server.address());
  auto b = open(server.address());
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  ASSERT_THAT(b->list("g").value(), ElementsAre(entry));
  server.kill();
  EXPECT_TRUE(b->wait_for_change("g", in(minutes(1))).error().is(Errc::store_unreachable));
  server.start();
  ASSERT_TRUE(eventually([&] { return b->wait_for_change("g", in(minutes(1))).has_value(); }));
  ASSERT_THAT(b->list("g").value(), IsEmpty());
  std::jthread other([&] { ASSERT_TRUE(a->put("g", entry, kLong).has_value()); });
  while (b->list("g").value().empty())
    ASSERT_TRUE(b->wait_for_change("g", in(seconds(20))).has_value());
}

TEST(RedisStore, SaysThatTheServerIsAway) {
  RedisServer server;
  auto store = open(server.address());
  server.kill();
  for (int i = 0; i < 2; ++i) {
    const auto put = store->put("g", local_entry("a", "actor"), kLong);
    ASSERT_FALSE(put.has_value());
    EXPECT_TRUE(put.error().is(Errc::store_unreachable));
    EXPECT_THAT(put.error().message(), HasSubstr(server.address().description()));
    EXPECT_TRUE(store->list("g").error().is(Errc::store_unreachable));
    EXPECT_TRUE(store->remove("g", "a", new_instance_id()).error().is(Errc::store_unreachable));
  }
}

TEST(RedisStore, APausedServerIsUnreachableAndThenBack) {
  RedisServer server;
  auto store =
      make_redis_store(server.address(), {.timeout = milliseconds(50), .look = milliseconds(50)})
          .value();
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  server.pause();
  EXPECT_TRUE(store->put("g", entry, kLong).error().is(Errc::store_unreachable));
  EXPECT_TRUE(store->list("g").error().is(Errc::store_unreachable));
  EXPECT_TRUE(store->wait_for_change("g", in(minutes(1))).error().is(Errc::store_unreachable));
  // A new store finds it paused, too, and may use it later.
  auto other = make_redis_store(server.address(), {.timeout = milliseconds(50)}).value();
  server.resume();
  EXPECT_TRUE(eventually([&] { return store->put("g", entry, kLong).has_value(); }));
  EXPECT_TRUE(eventually([&] { return other->list("g").has_value(); }));
  EXPECT_THAT(other->list("g").value(), ElementsAre(entry));
}

TEST(RedisStore, AnInterruptEndsAWaitWithoutAServer) {
  RedisServer server;
  auto store = open(server.address());
  server.kill();
  store->interrupt();
  EXPECT_TRUE(store->wait_for_change("g", in(minutes(1))).has_value());
}

TEST(RedisStore, TheRightPasswordOpensAndAWrongOneIsNamedNotShown) {
  RedisServer server({.password = "open sesame/@:"});
  ASSERT_TRUE(open(server.address())->list("g").has_value());
  auto address = server.address();
  for (const char* password : {"", "guess-me"}) {
    address.password = password;
    const auto store = make_redis_store(address);
    ASSERT_FALSE(store.has_value());
    EXPECT_TRUE(store.error().is(Errc::refused));
    EXPECT_THAT(store.error().message(), Not(HasSubstr("guess-me")));
  }
}

TEST(RedisStore, AServerThatComesBackWithAnotherPasswordIsUnreachable) {
  auto server = std::make_unique<RedisServer>(test::RedisServerOptions{.password = "one"});
  auto store = open(server->address());
  RedisClient admin(server->address(), seconds(1));
  ASSERT_TRUE(admin.command({"CONFIG", "SET", "requirepass", "two"}).has_value());
  ASSERT_TRUE(admin.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}).has_value());
  const auto put = store->put("g", local_entry("a", "actor"), kLong);
  ASSERT_FALSE(put.has_value());
  EXPECT_TRUE(put.error().is(Errc::store_unreachable)) << put.error().message();
}

TEST(RedisStore, OpensByItsAddress) {
  RedisServer server({.password = "a b"});
  const std::string tcp =
      "redis://:a%20b@127.0.0.1:" + std::to_string(server.address().port) + "/3";
  auto a = open_store(tcp).value();
  auto b = open_store("redis+unix://" + server.unix_address().unix_path + "?db=3&password=a%20b")
               .value();
  auto elsewhere =
      open_store("redis+unix://" + server.unix_address().unix_path + "?password=a%20b").value();
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  EXPECT_THAT(b->list("g").value(), ElementsAre(entry));
  EXPECT_THAT(elsewhere->list("g").value(), IsEmpty());
}

TEST(RedisStore, TouchesNoOtherKeysAndLeavesNone) {
  RedisServer server({.tcp = false});
  RedisClient client(server.address(), seconds(1));
  ASSERT_TRUE(client.command({"SET", "muster:{other}:entries:mine", "x"}).has_value());
  auto store = open(server.address());
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  const auto keys = client.command({"KEYS", "*"});
  ASSERT_TRUE(keys.has_value());
  EXPECT_EQ(keys->elements.size(), 5u);
  for (const auto& key :
       {"muster:{g}:entries", "muster:{g}:leases", "muster:{g}:version", "muster:{g}:begun"}) {
    EXPECT_GT(client.command({"PTTL", key})->integer, 0) << key;
  }
  ASSERT_TRUE(store->remove("g", "a", entry.instance).has_value());
  EXPECT_EQ(client.command({"EXISTS", "muster:{g}:entries", "muster:{g}:leases"})->integer, 0);
  EXPECT_EQ(client.command({"GET", "muster:{other}:entries:mine"})->text, "x");
}

TEST(RedisStore, SkipsAnEntryThatCannotBeRead) {
  RedisServer server({.tcp = false});
  RedisClient client(server.address(), seconds(1));
  auto store = open(server.address());
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  for (const char* value : {"", " ", "1 f", "1 f {}", "nonsense"}) {
    ASSERT_TRUE(client.command({"HSET", "muster:{g}:entries", "b", value}).has_value());
    EXPECT_THAT(store->list("g").value(), ElementsAre(entry));
  }
  // A newcomer of that name repairs it.
  const Entry b = local_entry("b", "actor");
  ASSERT_TRUE(store->put("g", b, kLong).has_value());
  EXPECT_THAT(store->list("g").value(), ElementsAre(entry, b));
}

TEST(RedisStore, AStoreInheritedThroughForkIsUselessAndHarmless) {
  RedisServer server({.tcp = false});
  auto store = open(server.address());
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store->put("g", entry, kLong).has_value());
  test::Child child([&] {
    const bool refused = store->list("g").error().is(Errc::forked) &&
                         store->wait_for_change("g", in(minutes(1))).error().is(Errc::forked);
    store.reset();
    ::_exit(refused ? 0 : 5);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(store->list("g").value(), ElementsAre(entry));
}

}  // namespace
}  // namespace muster::comm
