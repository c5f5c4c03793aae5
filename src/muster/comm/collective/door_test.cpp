#include "muster/comm/collective/door.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace muster::comm::collective {
namespace {

class DoorTest : public testing::Test {
 protected:
  DoorTest() { door_->keep(std::move(kept_)); }
  [[nodiscard]] bool has_let_go() const { return watched_.expired(); }

  std::shared_ptr<int> kept_ = std::make_shared<int>(7);
  std::weak_ptr<int> watched_ = kept_;
  std::shared_ptr<Door> door_ = std::make_shared<Door>();
};

TEST_F(DoorTest, KeepsWhatItHasWhileItIsOpen) {
  EXPECT_TRUE(Door::Visit(door_));
  EXPECT_FALSE(has_let_go());
}

TEST_F(DoorTest, LetsGoWhenItIsClosedAndNobodyIsInside) {
  door_->close();
  EXPECT_TRUE(has_let_go());
  EXPECT_FALSE(Door::Visit(door_));
  door_->close();
}

TEST_F(DoorTest, TheLastOneOutLetsGo) {
  {
    const Door::Visit first(door_);
    door_->close();
    // What one call of a closed group calls may come in as well.
    const Door::Visit second(door_);
    EXPECT_TRUE(first);
    EXPECT_TRUE(second);
    EXPECT_FALSE(has_let_go());
  }
  EXPECT_TRUE(has_let_go());
  EXPECT_FALSE(Door::Visit(door_));
}

TEST_F(DoorTest, NobodyIsInsideWhenItLetsGo) {
  std::atomic<int> visits{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (const Door::Visit visit{door_}) {
        EXPECT_FALSE(has_let_go());
        ++visits;
      }
    });
  while (visits < 1000) std::this_thread::yield();
  door_->close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(has_let_go());
}

}  // namespace
}  // namespace muster::comm::collective
