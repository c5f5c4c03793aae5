#include "muster/comm/discovery/served/served_store.h"

#include <atomic>
#include <future>
#include <thread>
#include <zmq.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/discovery/open_store.h"
#include "muster/comm/discovery/served/store_server.h"
#include "muster/comm/driver/zmq/credentials.h"
#include "muster/comm/errc.h"
#include "muster/comm/proxy/proxy.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kLong = minutes(5);
const Security kUser{};
const Security kSecret{.secret = "hush", .insecure = false};
const Security kOtherSecret{.secret = "another", .insecure = false};
const Security kInsecure{.secret = "", .insecure = true};

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

std::unique_ptr<StoreServer> serve(const Security& security, std::uint16_t port = 0) {
  // The port of a server that has just ended may be busy for a moment.
  Result<std::unique_ptr<StoreServer>> server = fail(Errc::internal, "not tried");
  eventually([&] {
    server = StoreServer::start({.port = port, .security = security});
    return server.has_value();
  });
  return std::move(server).value();
}

TEST(ServedStore, TheLocalStoreIsTheSameTable) {
  const auto server = serve(kUser);
  const auto local = server->local_store();
  const auto remote = make_served_store(server->address(), kUser).value();
  const Entry a = local_entry("a", "actor");
  const Entry b = local_entry("b", "actor");
  ASSERT_TRUE(local->put("g", a, kLong).has_value());
  ASSERT_TRUE(remote->put("g", b, kLong).has_value());
  EXPECT_THAT(local->list("g").value(), ElementsAre(a, b));
  EXPECT_THAT(remote->list("g").value(), ElementsAre(a, b));
  EXPECT_EQ(local->description(), server->address());
  EXPECT_EQ(local->local_address(), "127.0.0.1");
}

TEST(ServedStore, AChangeInTheServersProcessEndsAWaitElsewhere) {
  const auto server = serve(kUser);
  const auto local = server->local_store();
  const auto remote = make_served_store(server->address(), kUser).value();
  ASSERT_THAT(remote->list("g").value(), IsEmpty());
  std::jthread other(
      [&] { ASSERT_TRUE(local->put("g", local_entry("a", "actor"), kLong).has_value()); });
  while (remote->list("g").value().empty())
    ASSERT_TRUE(remote->wait_for_change("g", in(seconds(20))).has_value());
}

TEST(ServedStore, RefusesWhatIsAboveTheLimitsAndSaysSo) {
  StoreServerOptions options;
  options.limits.entries = 1;
  const auto server = StoreServer::start(options).value();
  const auto store = make_served_store(server->address(), kUser).value();
  ASSERT_TRUE(store->put("g", local_entry("a", "actor"), kLong).has_value());
  const auto refused = store->put("g", local_entry("b", "actor"), kLong);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::refused));
  EXPECT_THAT(refused.error().message(), HasSubstr("1 members are the most"));
}

TEST(ServedStore, LetsNobodyInAboveItsConnectionsUntilOthersEnd) {
  StoreServerOptions options;
  options.most_connections = 2;
  const auto server = StoreServer::start(options).value();
  auto first = make_served_store(server->address(), kUser).value();
  auto second = make_served_store(server->address(), kUser).value();
  ASSERT_TRUE(first->list("g").has_value());
  ASSERT_TRUE(second->list("g").has_value());
  const auto third = make_served_store(server->address(), kUser);
  EXPECT_FALSE(third && (*third)->list("g").has_value());
  EXPECT_TRUE(first->list("g").has_value()) << "those that are in stay in";
  second.reset();
  ASSERT_TRUE(eventually([&] {
    const auto again = make_served_store(server->address(), kUser);
    return again && (*again)->list("g").has_value();
  }));
}

TEST(ServedStore, TheLocalStoreOutlivesTheServer) {
  auto server = serve(kUser);
  const auto local = server->local_store();
  server.reset();
  EXPECT_TRUE(local->put("g", local_entry("a", "actor"), kLong).has_value());
}

TEST(ServedStore, ACallThatIsUnderWayEndsWhenItsOwnerHurries) {
  auto server = serve(kUser);
  // One that would wait for ever.
  const auto store = make_served_store(server->address(), kUser, {.timeout = seconds(60)}).value();
  ASSERT_TRUE(store->list("g").has_value());
  server.reset();
  std::atomic<bool> asks = false;
  auto under_way = std::async(std::launch::async, [&] {
    asks = true;
    return store->list("g").has_value();
  });
  ASSERT_TRUE(eventually([&] { return asks.load(); }));
  store->hurry(in(milliseconds(1)));
  ASSERT_EQ(under_way.wait_for(seconds(20)), std::future_status::ready);
  EXPECT_FALSE(under_way.get());
  EXPECT_FALSE(store->remove("g", Name("a"), InstanceId(1)).has_value()) << "and so do later ones";
}

TEST(ServedStore, RegistersAgainWithAServerThatWasRestarted) {
  auto server = serve(kSecret);
  const std::uint16_t port = server->port();
  const auto a = make_served_store(server->address(), kSecret).value();
  const auto b = make_served_store(server->address(), kSecret).value();
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  ASSERT_THAT(b->list("g").value(), ElementsAre(entry));
  server.reset();
  server = serve(kSecret, port);
  EXPECT_THAT(b->list("g").value(), IsEmpty());
  ASSERT_TRUE(a->put("g", entry, kLong).has_value());
  EXPECT_THAT(b->list("g").value(), ElementsAre(entry));
}

TEST(ServedStore, AMemberTakesNobodyForLostWhoHasNotYetRegisteredAgain) {
  auto server = serve(kUser);
  const std::uint16_t port = server->port();
  const auto a = make_served_store(server->address(), kUser).value();
  const Entry mine = local_entry("a", "actor");
  const Entry other = local_entry("b", "actor");
  ASSERT_TRUE(a->put("g", mine, kLong).has_value());
  ASSERT_TRUE(server->local_store()->put("g", other, kLong).has_value());
  ASSERT_THAT(a->list("g").value(), ElementsAre(mine, other));
  server.reset();
  server = serve(kUser, port);
  EXPECT_THAT(a->list("g").value(), ElementsAre(mine, other));
}

TEST(ServedStore, TheNewerInstanceWinsAlsoAfterARestart) {
  auto server = serve(kUser);
  const std::uint16_t port = server->port();
  const auto a = make_served_store(server->address(), kUser).value();
  const auto b = make_served_store(server->address(), kUser).value();
  const Entry old = local_entry("a", "actor");
  const Entry fresh = local_entry("a", "actor");
  ASSERT_TRUE(a->put("g", old, kLong).has_value());
  server.reset();
  server = serve(kUser, port);
  ASSERT_TRUE(b->put("g", fresh, kLong).has_value());
  const auto renewed = a->put("g", old, kLong);
  ASSERT_FALSE(renewed.has_value());
  EXPECT_TRUE(renewed.error().is(Errc::refused));
}

TEST(ServedStore, ARestartEndsAWait) {
  auto server = serve(kUser);
  const std::uint16_t port = server->port();
  const auto store = make_served_store(server->address(), kUser).value();
  ASSERT_THAT(store->list("g").value(), IsEmpty());
  std::jthread other([&] {
    server.reset();
    server = serve(kUser, port);
  });
  EXPECT_TRUE(store->wait_for_change("g", in(minutes(1))).has_value());
  other.join();
}

TEST(ServedStore, AServerMayComeLater) {
  std::uint16_t port = 0;
  {
    port = serve(kUser)->port();
  }
  const ServedStoreOptions quick{.timeout = milliseconds(50), .greeting = milliseconds(10)};
  const std::string address = "tcp://127.0.0.1:" + std::to_string(port);
  const auto store = make_served_store(address, kUser, quick).value();
  const auto listed = store->list("g");
  ASSERT_FALSE(listed.has_value());
  EXPECT_TRUE(listed.error().is(Errc::store_unreachable));
  EXPECT_THAT(listed.error().message(), HasSubstr(address));
  const auto server = serve(kUser, port);
  EXPECT_TRUE(eventually([&] { return store->list("g").has_value(); }));
}

TEST(ServedStore, AStrangerIsNotLetIn) {
  const auto server = serve(kSecret);
  for (const Security& stranger : {kOtherSecret, kUser, kInsecure}) {
    const auto store = make_served_store(server->address(), stranger);
    ASSERT_FALSE(store.has_value());
    EXPECT_TRUE(store.error().is(Errc::refused)) << store.error().message();
    EXPECT_THAT(store.error().message(), HasSubstr("MUSTER_SECRET"));
  }
  EXPECT_GT(server->strangers(), 0u);
  EXPECT_TRUE(make_served_store(server->address(), kSecret).value()->list("g").has_value());
}

TEST(ServedStore, WithoutASecretOthersNeedTheUsersPassword) {
  const auto server = serve(kUser);
  const auto store = make_served_store(server->address(), kInsecure);
  ASSERT_FALSE(store.has_value());
  EXPECT_TRUE(store.error().is(Errc::refused)) << store.error().message();
}

TEST(ServedStore, NothingListensOrConnectsBeyondThisHostWithoutASecret) {
  const auto server = StoreServer::start({.host = "0.0.0.0"});
  ASSERT_FALSE(server.has_value());
  EXPECT_TRUE(server.error().is(Errc::refused));
  EXPECT_THAT(server.error().message(), HasSubstr("MUSTER_SECRET"));
  EXPECT_THAT(server.error().message(), HasSubstr("--insecure"));
  const auto store = make_served_store("tcp://192.0.2.1:7103", kUser);
  ASSERT_FALSE(store.has_value());
  EXPECT_THAT(store.error().message(), HasSubstr("MUSTER_SECRET"));
  EXPECT_TRUE(StoreServer::start({.host = "0.0.0.0", .security = kInsecure}).has_value());
  EXPECT_TRUE(StoreServer::start({.host = "0.0.0.0", .security = kSecret}).has_value());
}

TEST(ServedStore, APortThatIsTakenIsAnError) {
  const auto server = serve(kUser);
  const auto second = StoreServer::start({.port = server->port()});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message(), HasSubstr("in use"));
}

TEST(ServedStore, DropsAndCountsWhatIsNoRequest) {
  const auto server = serve(kUser);
  const ZmqContext context;
  auto socket = ZmqSocket::open(context, ZMQ_DEALER).value();
  socket.set(ZMQ_LINGER, 0);
  ZmqCredentials::make(kUser)->use_as_client(socket);
  ASSERT_TRUE(socket.connect(server->address()).has_value());
  EXPECT_TRUE(send_strings(socket, {"nonsense"}));
  EXPECT_TRUE(send_strings(socket, {"muster store 1", "1", "put", "g", "{}", "1", "0"}));
  EXPECT_TRUE(send_strings(socket, std::vector<std::string>(1000, "part")));
  EXPECT_TRUE(eventually([&] { return server->malformed() == 3; }));
  EXPECT_TRUE(make_served_store(server->address(), kUser).value()->list("g").has_value());
}

TEST(ServedStore, RefusesOtherAddresses) {
  for (const char* address :
       {"tcp:", "tcp://", "tcp://host", "tcp://:1", "tcp://h:0", "tcp://h:65536", "tcp://a:b:1",
        "tcp://*:1", "tcp://[::1:1", "tcp://u@h:1", "tcp://127.0.0.1;x:1", "tcp://h:1/path"}) {
    const auto store = open_store(address, kSecret);
    ASSERT_FALSE(store.has_value()) << address;
    EXPECT_TRUE(store.error().is(Errc::socket_type)) << address;
  }
}

TEST(ServedStore, ProxiesMeetThereAndSurviveItsRestart) {
  auto server = serve(kSecret);
  const std::uint16_t port = server->port();
  const auto options = [&](const std::string& name, const std::string& expected) {
    ProxyOptions made;
    made.group = "g";
    made.type = made.name = name;
    made.expected_peers = {{expected, 1}};
    made.discovery = server->address();
    made.security = kSecret;
    made.lease = milliseconds(600);
    made.rejoin.enabled = true;
    return made;
  };
  std::optional<Proxy> a;
  std::jthread joining([&, wanted = options("a", "b")] { a.emplace(Proxy::join(wanted).value()); });
  auto b = Proxy::join(options("b", "a")).value();
  joining.join();
  server.reset();
  server = serve(kSecret, port);
  const auto watcher = make_served_store(server->address(), kSecret).value();
  EXPECT_TRUE(eventually([&] { return watcher->list("g").value().size() == 2; }));
}

}  // namespace
}  // namespace muster::comm
