#include "muster/comm/proxy/pump.h"

#include <optional>
#include <sys/eventfd.h>
#include <thread>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

// Has news until somebody polls, as a queue does that has room again.
class NewsDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "news"; }
  [[nodiscard]] std::string address() const override { return "here"; }
  Result<void> connect(PeerId, const Entry&) override { return {}; }
  void disconnect(PeerId) override {}
  SendStatus send(PeerId, const Message&) override { return SendStatus::full; }
  void flush() override {}
  [[nodiscard]] bool drained(PeerId) const override { return true; }
  [[nodiscard]] bool ready() const override { return news; }
  std::size_t poll(DriverSink&, Intake) override {
    ++polls;
    news = false;
    return 0;
  }
  void close() override {}

  bool news = false;
  int polls = 0;
};

class PumpTest : public testing::Test {
 protected:
  std::unique_ptr<Doorbell> doorbell = Doorbell::create().value();
  Entry self = local_entry("me", "actor");
  SteadyClock clock;
  NewsDriver driver;
  Router router{self, RouterOptions{{}, {}, std::chrono::seconds(3), {}}, clock, {&driver}};
  LightMutex mutex;
  Pump pump{mutex, router, {&driver}, *doorbell, Duration::zero()};
};

TEST_F(PumpTest, ReturnsToTheCallerAfterTheFirstPollThatMayHaveTakenInItsNews) {
  driver.news = true;
  std::unique_lock lock(mutex);
  pump.wait(lock, clock.now() + std::chrono::minutes(1));
  EXPECT_EQ(driver.polls, 1);
}

TEST_F(PumpTest, LooksOnceEvenWhenTheTimeIsUp) {
  std::unique_lock lock(mutex);
  pump.wait(lock, clock.now());
  EXPECT_EQ(driver.polls, 1);
}

// Has more messages of one peer than anybody can take.
class FloodDriver final : public Driver {
 public:
  [[nodiscard]] std::string_view name() const override { return "flood"; }
  [[nodiscard]] std::string address() const override { return "here"; }
  Result<void> connect(PeerId peer, const Entry&) override {
    from = peer;
    return {};
  }
  void disconnect(PeerId) override {}
  SendStatus send(PeerId, const Message&) override { return SendStatus::full; }
  void flush() override {}
  [[nodiscard]] bool drained(PeerId) const override { return true; }
  [[nodiscard]] bool ready() const override { return true; }
  std::size_t poll(DriverSink& sink, Intake intake) override {
    if (intake == Intake::closed) {
      ++polls_in_vain;
      return 0;
    }
    for (int i = 0; i < 1000; ++i) {
      Message message;
      message.session_id = {InstanceId(10), ++number};
      message.message_id = {InstanceId(10), number};
      sink.on_message(*from, std::move(message));
    }
    return 1000;
  }
  [[nodiscard]] int data_fd() const override { return arrivals.get(); }
  void close() override {}

  FileDescriptor arrivals{::eventfd(1, EFD_CLOEXEC)};
  std::optional<PeerId> from;
  std::uint64_t number = 0;
  int polls_in_vain = 0;
};

class FullInbox : public testing::Test {
 protected:
  FullInbox() {
    Entry peer = local_entry("you", "actor");
    peer.addresses = {{"flood", "there"}};
    router.update({peer});
  }

  std::unique_ptr<Doorbell> doorbell = Doorbell::create().value();
  Entry self = local_entry("me", "actor");
  SteadyClock clock;
  FloodDriver driver;
  Router router{self, RouterOptions{{}, {}, std::chrono::seconds(3), {}}, clock, {&driver}};
  LightMutex mutex;
  Pump pump{mutex, router, {&driver}, *doorbell, Duration::zero()};
};

TEST_F(FullInbox, DoesNotMakeItSpin) {
  ASSERT_TRUE(pump.start());
  const auto until = [&](auto condition) {
    const TimePoint deadline = clock.now() + std::chrono::seconds(30);
    std::unique_lock lock(mutex);
    while (!condition() && clock.now() < deadline) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
    }
    return condition();
  };
  ASSERT_TRUE(until([&] { return router.inbox_full(); }));
  // It looks every few milliseconds; spinning, it would look a hundred times as often.
  const TimePoint full = clock.now();
  ASSERT_TRUE(until([&] { return clock.now() - full > std::chrono::milliseconds(100); }));
  pump.stop();
  const auto passed = std::chrono::duration<double, std::milli>(clock.now() - full);
  EXPECT_LT(driver.polls_in_vain, 2 * passed.count());
}

// As a thread does that flushes while another one wants to receive, which makes room.
TEST_F(FullInbox, LetsOthersInWhileSomebodyWaits) {
  const TimePoint start = clock.now();
  const TimePoint deadline = start + std::chrono::seconds(10);
  std::unique_lock lock(mutex);
  while (!router.inbox_full()) pump.wait(lock, deadline);
  bool came_in = false;
  std::jthread other([&] {
    const std::lock_guard its_lock(mutex);
    came_in = true;
  });
  while (!came_in && clock.now() < deadline) pump.wait(lock, deadline);
  EXPECT_TRUE(came_in);
  const auto passed = std::chrono::duration<double, std::milli>(clock.now() - start);
  EXPECT_LT(driver.polls_in_vain, 10 + 2 * passed.count());
  lock.unlock();
}

}  // namespace
}  // namespace muster::comm
