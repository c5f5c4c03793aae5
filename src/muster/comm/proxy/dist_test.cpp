#include "muster/comm/proxy/dist.h"

#include <chrono>
#include <deque>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "muster/comm/proxy/proxy.h"

namespace muster::comm {

template class Dist<int, Proxy>;  // the real one fits as well as the fake one below

namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance(Duration time) { now_ += time; }

 private:
  TimePoint now_{};
};

/// Hands out what it was given, then lets the time pass, or is closed.
class FakeProxy {
 public:
  explicit FakeProxy(HandClock& clock) : clock_(clock) {}

  void arrives(const char* source, const char* tag, const char* text = "") {
    Message message;
    message.source = source;
    message.tag = tag;
    message.body = Body::text(text);
    inbox_.push_back(std::move(message));
  }
  void close() { closed_ = true; }
  void fail_with(Errc errc) { error_ = errc; }
  void leaves(std::size_t peer) {
    peers_["actor"].erase(peers_["actor"].begin() + static_cast<std::ptrdiff_t>(peer));
  }

  [[nodiscard]] PeersByType peers() const { return peers_; }

  Result<std::optional<Message>> receive_once(std::optional<Duration> timeout) {
    if (error_) return fail(*error_, "as the test wants");
    if (inbox_.empty() && closed_) return fail(Errc::closed, "closed");
    if (inbox_.empty()) {
      clock_.advance(timeout.value_or(std::chrono::hours(1)));
      if (on_wait) on_wait();
      return std::nullopt;
    }
    Message message = std::move(inbox_.front());
    inbox_.pop_front();
    return message;
  }

  std::function<void()> on_wait;

 private:
  HandClock& clock_;
  std::deque<Message> inbox_;
  bool closed_ = false;
  std::optional<Errc> error_;
  PeersByType peers_{{"actor", {"actor_1", "actor_2", "actor_3"}}};
};

using Messages = std::span<const Message>;

struct Learner {
  std::vector<std::string> rollouts;
  void exit(FakeProxy& proxy, Messages) { proxy.close(); }
};

void keep(Learner& self, FakeProxy&, Messages messages) {
  for (const Message& message : messages) self.rollouts.emplace_back(message.body.text());
}

class DistTest : public testing::Test {
 protected:
  HandClock clock_;
  FakeProxy proxy_{clock_};
};

TEST_F(DistTest, CallsHandlersOfTheLocalInstanceUntilTheProxyIsClosed) {
  auto learner =
      dist(proxy_, Learner{}).on("actor:rollout:60%", keep).on("actor_1:exit:1", &Learner::exit);
  proxy_.arrives("actor_1", "rollout", "a");
  proxy_.arrives("actor_1", "unasked");
  proxy_.arrives("actor_2", "rollout", "b");
  proxy_.arrives("actor_3", "rollout", "c");
  proxy_.arrives("actor_1", "exit");
  EXPECT_EQ(learner.launch({.clock = &clock_}).value(), LaunchEnd::closed);
  EXPECT_THAT(learner->rollouts, ElementsAre("a", "b"));
  EXPECT_EQ(&learner.local(), learner.operator->());
}

TEST_F(DistTest, PassesInstanceAndProxyToALambda) {
  auto learner =
      dist(proxy_, 0).on("actor:rollout:1", [](int& count, FakeProxy& proxy, Messages messages) {
        count += static_cast<int>(messages.size());
        proxy.close();
      });
  proxy_.arrives("actor_1", "rollout");
  EXPECT_EQ(learner.launch().value(), LaunchEnd::closed);
  EXPECT_EQ(learner.local(), 1);
}

TEST_F(DistTest, StopsWhenAHandlerSaysSoAndCanBeLaunchedAgain) {
  auto learner = dist(proxy_, Learner{});
  learner.on("actor:stop:1", [&](Learner&, FakeProxy&, Messages) { learner.stop(); })
      .on("actor:*:1", keep);
  proxy_.arrives("actor_1", "stop", "s");
  proxy_.arrives("actor_1", "rollout", "r");
  proxy_.close();
  EXPECT_EQ(learner.launch().value(), LaunchEnd::stopped);
  EXPECT_TRUE(learner->rollouts.empty());
  EXPECT_EQ(learner.launch().value(), LaunchEnd::closed);
  EXPECT_THAT(learner->rollouts, ElementsAre("s", "r"));
}

TEST_F(DistTest, StopsWhenTheTokenSaysSo) {
  std::stop_source source;
  proxy_.on_wait = [&] { source.request_stop(); };
  auto learner = dist(proxy_, Learner{});
  EXPECT_EQ(learner.launch({.stop = source.get_token()}).value(), LaunchEnd::stopped);
}

TEST_F(DistTest, StopsWhenAnotherThreadSaysSo) {
  auto learner = dist(proxy_, Learner{});
  std::jthread other([&] { learner.stop(); });
  EXPECT_EQ(learner.launch().value(), LaunchEnd::stopped);
}

TEST_F(DistTest, EndsAtTheDeadline) {
  auto learner = dist(proxy_, Learner{});
  EXPECT_EQ(learner.launch({.deadline = clock_.now() + 1s, .clock = &clock_}).value(),
            LaunchEnd::deadline);
  EXPECT_EQ(clock_.now().time_since_epoch(), 1s);
}

TEST_F(DistTest, EndsWhenNoMessageComesForTheIdleTime) {
  proxy_.on_wait = [&, once = false]() mutable {
    if (clock_.now().time_since_epoch() >= 900ms && !std::exchange(once, true))
      proxy_.arrives("actor_1", "x");
  };
  auto learner = dist(proxy_, Learner{});
  EXPECT_EQ(learner.launch({.idle_timeout = 1s, .clock = &clock_}).value(), LaunchEnd::idle);
  EXPECT_EQ(clock_.now().time_since_epoch(), 1900ms);
}

TEST_F(DistTest, CallsAHandlerWhenALeavingPeerSatisfiesItsEvent) {
  auto learner = dist(proxy_, Learner{}).on("actor:rollout:100%", keep);
  proxy_.arrives("actor_1", "rollout", "a");
  proxy_.arrives("actor_2", "rollout", "b");
  proxy_.on_wait = [&, once = false]() mutable {
    if (!std::exchange(once, true)) proxy_.leaves(2);
  };
  EXPECT_EQ(learner.launch({.idle_timeout = 1s, .clock = &clock_}).value(), LaunchEnd::idle);
  EXPECT_THAT(learner->rollouts, ElementsAre("a", "b"));
}

TEST_F(DistTest, ReturnsWhatReceivingFailedWith) {
  proxy_.fail_with(Errc::receive_failed);
  auto learner = dist(proxy_, Learner{});
  const auto end = learner.launch();
  ASSERT_FALSE(end.has_value());
  EXPECT_TRUE(end.error().is(Errc::receive_failed));
}

TEST_F(DistTest, LetsOutWhatAHandlerThrows) {
  auto learner = dist(proxy_, Learner{}).on("actor:x:1", [](Learner&, FakeProxy&, Messages) {
    throw std::runtime_error("no");
  });
  proxy_.arrives("actor_1", "x");
  EXPECT_THROW(static_cast<void>(learner.launch()), std::runtime_error);
}

TEST_F(DistTest, ThrowsForAnEventThatCannotBeRead) {
  EXPECT_THROW(static_cast<void>(dist(proxy_, Learner{}).on("actor:rollout", keep)),
               EventSyntaxError);
}

}  // namespace
}  // namespace muster::comm
