// Two drivers in one process, each with a thread that sleeps on its doorbell, as proxies have it.
#include <condition_variable>
#include <mutex>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>

#include "muster/comm/driver/shm/test_node.h"
#include "muster/runtime/last_look.h"

namespace muster::comm::shm {
namespace {

class ThreadedNode {
 public:
  explicit ThreadedNode(const std::string& name, QueueLimits limits = {}) : node(name, {}, limits) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~ThreadedNode() { stop(); }

  void stop() {
    thread_.request_stop();
    node.bell().ring();
    if (thread_.joinable()) thread_.join();
  }

  /// Waits while the queue is full. False when nobody makes room.
  bool send(PeerId to, const Message& message) {
    std::unique_lock lock(mutex);
    SendStatus status = SendStatus::full;
    const bool done = polled_.wait_for(lock, std::chrono::seconds(20), [&] {
      status = node.driver().send(to, message);
      return status != SendStatus::full;
    });
    node.driver().flush();
    return done && status == SendStatus::sent;
  }
  bool wait_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex);
    return polled_.wait_for(lock, std::chrono::seconds(20), done);
  }

  std::mutex mutex;
  TestNode node;

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      wait(stop);
      const std::lock_guard lock(mutex);
      node.step();
      polled_.notify_all();
    }
  }

  void wait(const std::stop_token& stop) {
    if (node.driver().ready()) return;
    node.bell().prepare(Doorbell::Sleep::on_fd);
    if (!last_look([&] { return node.driver().ready() || stop.stop_requested(); })) {
      pollfd slots[2] = {{node.bell().fd(), POLLIN, 0}, {node.driver().control_fd(), POLLIN, 0}};
      ::poll(slots, 2, timeout());
    }
    node.bell().awake();
  }

  int timeout() {
    const std::lock_guard lock(mutex);
    const auto wakeup = node.driver().next_wakeup();
    if (!wakeup) return 10'000;
    const auto left = *wakeup - SteadyClock().now();
    return static_cast<int>(
        std::clamp<std::int64_t>(left / std::chrono::milliseconds(1) + 1, 0, 10'000));
  }

  std::condition_variable polled_;
  std::jthread thread_;
};

TEST(ShmThreads, WakeEachOtherAtEveryMessage) {
  ThreadedNode a("a");
  ThreadedNode b("b");
  PeerId to_b;
  PeerId to_a;
  {
    const std::scoped_lock lock(a.mutex, b.mutex);
    to_b = a.node.connect(b.node);
    to_a = b.node.connect(a.node);
    b.node.on_each = [&](PeerId, Message&& message) {
      // With the lock held, as a router does.
      EXPECT_EQ(b.node.driver().send(to_a, message), SendStatus::sent);
      b.node.driver().flush();
    };
  }
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const Body body = Body::text(std::string(i % 10 == 0 ? 50'000 : 10, 'x'));
    ASSERT_TRUE(a.send(to_b, test_message(a.node.self(), i, body)));
    ASSERT_TRUE(a.wait_until([&] { return a.node.received.size() == i; })) << i;
    ASSERT_EQ(a.node.received.back().body, body);
  }
}

TEST(ShmThreads, LoseNothingWhenSendersHaveToWait) {
  ThreadedNode a("a", {.peer_bytes = 1 << 20});
  ThreadedNode b("b", {.peer_bytes = 1 << 20});
  PeerId to_b;
  PeerId to_a;
  {
    const std::scoped_lock lock(a.mutex, b.mutex);
    to_b = a.node.connect(b.node);
    to_a = b.node.connect(a.node);
  }
  constexpr std::uint64_t kCount = 5000;
  const auto flood = [](ThreadedNode& from, PeerId to) {
    for (std::uint64_t i = 1; i <= kCount; ++i) {
      const std::size_t size = i % 50 == 0 ? 300'000 : 500;
      const Body body = Body::text(std::string(size, static_cast<char>('a' + i % 26)));
      ASSERT_TRUE(from.send(to, test_message(from.node.self(), i, body))) << i;
    }
  };
  const auto count = [](ThreadedNode& at) {
    return [&at, next = std::make_shared<std::uint64_t>(0)](PeerId, Message&& message) {
      ++*next;
      EXPECT_EQ(message.message_id.number, *next);
      EXPECT_EQ(message.body.text().back(), static_cast<char>('a' + *next % 26));
      if (*next == kCount) at.node.received.push_back(std::move(message));
    };
  };
  {
    const std::scoped_lock lock(a.mutex, b.mutex);
    a.node.on_each = count(a);
    b.node.on_each = count(b);
  }
  std::jthread other([&] { flood(b, to_a); });
  flood(a, to_b);
  other.join();
  ASSERT_TRUE(a.wait_until([&] { return a.node.received.size() == 1; }));
  ASSERT_TRUE(b.wait_until([&] { return b.node.received.size() == 1; }));
}

TEST(ShmThreads, ReleaseBuffersFromAnyThread) {
  ThreadedNode a("a");
  ThreadedNode b("b");
  PeerId to_b;
  {
    const std::scoped_lock lock(a.mutex, b.mutex);
    to_b = a.node.connect(b.node);
  }
  std::jthread consumer([&] {
    for (std::size_t taken = 0; taken < 500;) {
      std::vector<Message> messages;
      ASSERT_TRUE(b.wait_until([&] {
        messages = std::exchange(b.node.received, {});
        return !messages.empty();
      }));
      taken += messages.size();
      for (const Message& message : messages) {
        ASSERT_EQ(message.body.text(), std::string(20'000, 'x'));
      }
    }
  });
  for (std::uint64_t i = 1; i <= 500; ++i) {
    ASSERT_TRUE(a.send(to_b, test_message(a.node.self(), i, Body::text(std::string(20'000, 'x')))));
  }
}

}  // namespace
}  // namespace muster::comm::shm
