// A smoke test of every driver with every store, between two proxies of one process.

#include <future>

#include <gtest/gtest.h>

#include "muster/comm/discovery/memory/memory_store.h"
#include "muster/comm/driver/registry.h"
#include "tests/integration/proxy/party.h"

namespace muster::comm {
namespace {

using namespace std::chrono_literals;

class Pairs : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Pairs, PassAMessageBackAndForth) {
  const std::string driver = std::get<0>(GetParam());
  const std::string store = std::get<1>(GetParam());
  MeetingPlace place(store);
  const SteadyClock clock;
  const auto board = std::make_shared<MemoryBoard>(clock);
  const auto options = [&](const std::string& name, const std::string& other) {
    ProxyOptions result;
    result.group = "pairs";
    result.type = name;
    result.name = name;
    result.expected_peers = {{other, 1}};
    result.driver = driver;
    result.join_timeout = 20s;
    if (store == "memory") {
      result.store = std::make_shared<MemoryStore>(board);
    } else {
      result.discovery = place.address();
    }
    return result;
  };
  auto joining = std::async(std::launch::async, [&] { return join_or_throw(options("b", "a")); });
  Proxy a = join_or_throw(options("a", "b"));
  Proxy b = joining.get();
  Message message;
  message.tag = "ping";
  message.destination = "b";
  message.body = Body::text("there");
  const auto sessions = a.isend(message);
  ASSERT_TRUE(sessions.has_value()) << sessions.error().message();
  const auto got = b.receive_once(20s);
  ASSERT_TRUE(got.has_value() && got->has_value());
  ASSERT_TRUE(b.reply(**got, "pong", Body::text("back")).has_value());
  const auto replies = a.receive_by_id(*sessions, 20s);
  ASSERT_EQ(replies->messages.size(), 1u);
  EXPECT_EQ(replies->messages[0].body.text(), "back");
}

std::vector<std::string> drivers() {
  std::vector<std::string> names{"auto"};
  for (const DriverRow& row : driver_rows()) {
    if (row.built()) names.emplace_back(row.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         testing::Combine(testing::ValuesIn(drivers()),
                                          testing::Values("memory", "file", "redis")),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace muster::comm
