// The zmq driver over a line that breaks, stalls and lags, and with much to carry.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/relay.h"
#include "tests/support/station.h"

namespace muster::comm {
namespace {

using std::chrono::milliseconds;
using test::Relay;

const Station::Setup kTcp{.driver = "zmq"};

/// Two stations; what `a` sends to `b` goes through a relay.
class ZmqLine : public testing::TestWithParam<std::string> {
 protected:
  ZmqLine()
      : a_("a", setup()), b_("b", setup()), relay_(test::port_of(b_.self.addresses.at("zmq"))) {
    Entry through_relay = b_.self;
    through_relay.addresses["zmq"] = relay_.address();
    to_b_ = a_.connect(through_relay);
  }

  static Station::Setup setup() { return {.driver = "zmq", .secret = GetParam()}; }

  bool step_until(const std::function<bool()>& done) { return comm::step_until({&a_, &b_}, done); }

  void send(std::size_t number) {
    ASSERT_EQ(a_.send(to_b_, a_.message("n", Body::text(std::to_string(number)))),
              SendStatus::sent);
  }

  void expect_in_order(std::size_t count) {
    ASSERT_EQ(b_.received.size(), count);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(b_.received[i].second.body.text(), std::to_string(i));
  }

  Station a_;
  Station b_;
  Relay relay_;
  PeerId to_b_;
};

TEST_P(ZmqLine, LosesAndRepeatsNothingWhenTheConnectionBreaksAgainAndAgain) {
  std::size_t sent = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 200; ++i) send(sent++);
    const std::size_t before = b_.received.size();
    ASSERT_TRUE(step_until([&] { return b_.received.size() > before; }));
    relay_.cut();
    for (int i = 0; i < 200; ++i) send(sent++);
  }
  ASSERT_TRUE(step_until([&] { return b_.received.size() >= sent && a_.driver().drained(to_b_); }));
  expect_in_order(sent);
  EXPECT_TRUE(a_.departures.empty());
  EXPECT_TRUE(b_.departures.empty());
}

TEST_P(ZmqLine, GoesOnAfterTheLineWasDownForAWhile) {
  send(0);
  ASSERT_TRUE(step_until([&] { return b_.received.size() == 1 && a_.driver().drained(to_b_); }));
  relay_.block();
  for (std::size_t i = 1; i < 100; ++i) send(i);
  const TimePoint until = SteadyClock().now() + milliseconds(300);
  ASSERT_TRUE(step_until([&] { return SteadyClock().now() > until; }));
  EXPECT_EQ(b_.received.size(), 1u);
  relay_.resume();
  ASSERT_TRUE(step_until([&] { return b_.received.size() == 100; }));
  expect_in_order(100);
}

TEST_P(ZmqLine, DeliversOverALineWithDelay) {
  relay_.delay(milliseconds(20));
  for (std::size_t i = 0; i < 1000; ++i) send(i);
  ASSERT_TRUE(step_until([&] { return b_.received.size() == 1000 && a_.driver().drained(to_b_); }));
  expect_in_order(1000);
}

TEST_P(ZmqLine, CallsAPeerSilentWhenTheLineIsDead) {
  send(0);
  ASSERT_TRUE(step_until([&] { return b_.received.size() == 1; }));
  relay_.block();
  ASSERT_TRUE(step_until([&] { return a_.departures.contains(to_b_); }));
  EXPECT_EQ(a_.departures.at(to_b_), Departure::silent);
}

INSTANTIATE_TEST_SUITE_P(Secrets, ZmqLine, testing::Values("", "a secret that both know"),
                         [](const auto& test) {
                           return std::string(test.param.empty() ? "open" : "curve");
                         });

TEST(Zmq, CarriesALargeMessageWithoutCopyingIt) {
  for (const char* protocol : {"tcp", "ipc"}) {
    const Station::Setup setup{.driver = "zmq", .options = {{"zmq.protocol", protocol}}};
    Station a("a", setup);
    Station b("b", setup);
    const PeerId to_b = a.connect(b);
    const Buffer contents = Buffer::copy_of(as_bytes(std::string(64 << 20, 'x')));
    const long owners = contents.owner().use_count();
    ASSERT_EQ(a.send(to_b, a.message("big", Body::bytes(contents))), SendStatus::sent);
    EXPECT_GT(contents.owner().use_count(), owners) << "it was copied";
    ASSERT_TRUE(
        step_until({&a, &b}, [&] { return b.received.size() == 1 && a.driver().drained(to_b); }));
    EXPECT_TRUE(b.received[0].second.body.buffer() == contents);
    ASSERT_TRUE(step_until({&a, &b}, [&] { return contents.owner().use_count() == owners; }))
        << "it is kept for ever";
  }
}

TEST(Zmq, PublishesAnAddressThatCanBeReached) {
  const Station any("any", {.driver = "zmq", .options = {{"zmq.host", "0.0.0.0"}}, .secret = "s"});
  const std::string address = any.self.addresses.at("zmq");
  EXPECT_EQ(address.find("0.0.0.0"), std::string::npos) << address;
  const Station named("named", {.driver = "zmq", .options = {{"zmq.host", "lo"}}});
  EXPECT_EQ(named.self.addresses.at("zmq").rfind("tcp://127.0.0.1:", 0), 0u);
  const Station told("told", {.driver = "zmq",
                              .options = {{"zmq.host", "0.0.0.0"}, {"zmq.advertise", "node7"}},
                              .secret = "s"});
  EXPECT_EQ(told.self.addresses.at("zmq").rfind("tcp://node7:", 0), 0u);
}

TEST(Zmq, ReachesAPeerThatListensOnAllInterfaces) {
  const Station::Setup setup{.driver = "zmq", .options = {{"zmq.host", "*"}}, .secret = "s"};
  Station a("a", setup);
  Station b("b", setup);
  ASSERT_EQ(a.send(a.connect(b), a.message("x", Body::text("hi"))), SendStatus::sent);
  EXPECT_TRUE(step_until({&a, &b}, [&] { return b.received.size() == 1; }));
}

TEST(Zmq, ClosesAtOnceWhenThePeerIsDead) {
  auto a = std::make_unique<Station>("a", kTcp);
  auto b = std::make_unique<Station>("b", kTcp);
  const PeerId to_b = a->connect(*b);
  ASSERT_EQ(a->send(to_b, a->message("x", {})), SendStatus::sent);
  ASSERT_TRUE(step_until({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  b.reset();
  for (int i = 0; i < 100; ++i)
    static_cast<void>(a->send(to_b, a->message("x", Body::text(std::string(100'000, 'x')))));
  a->driver().close();  // would hang if it waited for the messages to leave
  a->driver().close();
}

}  // namespace
}  // namespace muster::comm
