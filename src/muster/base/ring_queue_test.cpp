#include "muster/base/ring_queue.h"

#include <deque>
#include <memory>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(RingQueue, GivesElementsInTheOrderInWhichTheyCame) {
  RingQueue<int> queue;
  std::deque<int> expected;
  int next = 0;
  // Grows and shrinks again and again, so that it wraps around at every size.
  for (int round = 1; round < 60; ++round) {
    for (int i = 0; i < round; ++i) {
      queue.push_back(int(next));
      expected.push_back(next++);
    }
    for (int i = 0; i < round - round % 3; ++i) {
      ASSERT_EQ(queue.front(), expected.front());
      queue.pop_front();
      expected.pop_front();
    }
    ASSERT_EQ(queue.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(queue[i], expected[i]);
  }
}

TEST(RingQueue, StartsOverAtItsFirstPlaceWhenItRanEmpty) {
  RingQueue<int> queue;
  queue.push_back(1);
  const int* const first = &queue.front();
  queue.pop_front();
  EXPECT_TRUE(queue.empty());
  queue.push_back(2);
  EXPECT_EQ(&queue.front(), first);
}

TEST(RingQueue, HoldsWhatCanOnlyBeMoved) {
  RingQueue<std::unique_ptr<int>> queue;
  for (int i = 0; i < 10'000; ++i) queue.push_back(std::make_unique<int>(i));
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(*std::exchange(queue.front(), nullptr), i);
    queue.pop_front();
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace muster
