#include "muster/comm/discovery/memory/memory_store.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace muster::comm {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint(Duration(now_.load())); }
  void advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<Duration::rep> now_{0};
};

struct MemoryStoreTest : testing::Test {
  ManualClock clock;
  std::shared_ptr<MemoryBoard> board = std::make_shared<MemoryBoard>(clock);
  MemoryStore store{board};
};

TEST_F(MemoryStoreTest, ForgetsAnEntryExactlyWhenItsLeaseEnds) {
  ASSERT_TRUE(store.put("g", local_entry("a", "actor"), seconds(3)).has_value());
  clock.advance(seconds(3) - Duration(1));
  EXPECT_EQ(store.list("g")->size(), 1u);
  clock.advance(Duration(1));
  EXPECT_EQ(store.list("g")->size(), 0u);
}

TEST_F(MemoryStoreTest, WaitsBySimulatedTime) {
  ASSERT_TRUE(store.list("g").has_value());
  const TimePoint deadline = clock.now() + hours(10);
  std::jthread waiter([&] { EXPECT_TRUE(store.wait_for_change("g", deadline).has_value()); });
  clock.advance(hours(11));
  board->time_moved();
}

TEST_F(MemoryStoreTest, ALeaseThatEndsIsAChange) {
  ASSERT_TRUE(store.put("g", local_entry("a", "actor"), seconds(3)).has_value());
  ASSERT_EQ(store.list("g")->size(), 1u);
  clock.advance(seconds(3));
  EXPECT_TRUE(store.wait_for_change("g", clock.now() + hours(1)).has_value());
}

TEST_F(MemoryStoreTest, RenewingIsNoChange) {
  const Entry entry = local_entry("a", "actor");
  ASSERT_TRUE(store.put("g", entry, seconds(3)).has_value());
  const auto before = board->list("g").version;
  ASSERT_TRUE(store.put("g", entry, seconds(3)).has_value());
  EXPECT_EQ(board->list("g").version, before);
}

}  // namespace
}  // namespace muster::comm
