#include "muster/service/web/event_hub.h"

#include <thread>

#include <gtest/gtest.h>

namespace muster::service {
namespace {

using namespace std::chrono_literals;

TimePoint patience() { return std::chrono::steady_clock::now() + 20s; }
TimePoint now() { return std::chrono::steady_clock::now(); }

TEST(EventHub, HandsLinesToAllWhoListen) {
  EventHub hub;
  hub.publish("before");
  const auto one = hub.listen();
  const auto two = hub.listen();
  hub.publish("a");
  hub.publish("b");
  for (const auto& each : {one, two}) {
    const auto lines = each->take(patience());
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(*lines[0], "a");
    EXPECT_EQ(*lines[1], "b");
  }
  EXPECT_TRUE(one->take(now()).empty());
}

TEST(EventHub, TellsASlowListenerWhatItLost) {
  EventHub hub;
  const auto listening = hub.listen();
  for (std::size_t i = 0; i < EventHub::Listening::kMostLines + 3; ++i)
    hub.publish(std::to_string(i));
  const auto lines = listening->take(patience());
  ASSERT_EQ(lines.size(), EventHub::Listening::kMostLines + 1);
  EXPECT_EQ(*lines[0], R"({"event":"lines_lost","count":3})");
  EXPECT_EQ(*lines[1], "3");
}

TEST(EventHub, ForgetsThoseWhoLeft) {
  EventHub hub;
  (void)hub.listen();
  EXPECT_EQ(hub.listeners(), 0u);
  hub.publish("a");
}

TEST(EventHub, WakesThoseWhoWaitWhenItStops) {
  EventHub hub;
  const auto listening = hub.listen();
  std::jthread waiting([&] { EXPECT_TRUE(listening->take(patience()).empty()); });
  hub.stop();
  waiting.join();
  EXPECT_TRUE(listening->stopped());
  EXPECT_TRUE(hub.listen()->stopped()) << "who comes later need not wait either";
}

}  // namespace
}  // namespace muster::service
