#include "muster/runtime/light_mutex.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(LightMutex, IsHeldByOneAtATime) {
  LightMutex mutex;
  mutex.lock();
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(LightMutex, KeepsThreadsThatCountFromDisturbingEachOther) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 20'000;
  LightMutex mutex;
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < kTimes; ++k) {
          const std::lock_guard lock(mutex);
          ++count;
        }
      });
    }
  }
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(LightMutex, WakesWhoSleepsUntilItIsGivenBack) {
  LightMutex mutex;
  bool done = false;
  std::unique_lock held(mutex);
  std::jthread sleeper([&] {
    const std::lock_guard lock(mutex);
    done = true;
  });
  EXPECT_FALSE(done);
  held.unlock();
  sleeper.join();
  EXPECT_TRUE(done);
}

TEST(LightMutex, LetsConditionsBeWaitedFor) {
  LightMutex mutex;
  std::condition_variable_any changed;
  constexpr int kTurns = 2'000;
  int turn = 0;
  const auto play = [&](int parity) {
    for (int i = 0; i < kTurns; ++i) {
      std::unique_lock lock(mutex);
      ASSERT_TRUE(
          changed.wait_for(lock, std::chrono::seconds(20), [&] { return turn % 2 == parity; }));
      ++turn;
      changed.notify_all();
    }
  };
  {
    std::jthread first([&] { play(0); });
    std::jthread second([&] { play(1); });
  }
  EXPECT_EQ(turn, 2 * kTurns);
}

}  // namespace
}  // namespace muster
