#include "muster/comm/driver/shm/arena.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "muster/comm/driver/shm/placement.h"
#include "muster/comm/errc.h"

namespace muster::comm::shm {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return time; }
  TimePoint time{};
};

std::shared_ptr<SlotTable> slot_table() {
  return std::make_shared<SlotTable>(LinkMemory::create(4096).value());
}

class ArenaTest : public testing::Test {
 protected:
  std::shared_ptr<Block> lent(std::size_t bytes, const std::shared_ptr<SlotTable>& table) {
    auto block = arena.allocate(bytes, Force::no).value();
    last_slot = table->take().value();
    block->lend(table, last_slot);
    return block;
  }

  HandClock clock;
  Arena arena{16 * kMiB, clock};
  std::uint32_t last_slot = 0;
};

TEST_F(ArenaTest, UsesABlockAgainWhenTheReceiverLetsGo) {
  const auto table = slot_table();
  const std::byte* const first = lent(kMiB, table)->data();
  EXPECT_NE(lent(kMiB, table)->data(), first);
  table->memory().slot(0).store(0);
  EXPECT_EQ(lent(kMiB, table)->data(), first);
  EXPECT_EQ(arena.used_bytes(), 2 * kMiB);
}

TEST_F(ArenaTest, WaitsForEveryReceiverOfABlock) {
  const auto one = slot_table();
  const auto two = slot_table();
  auto block = lent(kMiB, one);
  block->lend(two, two->take().value());
  one->memory().slot(0).store(0);
  arena.reclaim();
  EXPECT_EQ(arena.used_bytes(), kMiB);
  two->memory().slot(0).store(0);
  arena.reclaim();
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST_F(ArenaTest, TakesBackWhatADeadReceiverHeld) {
  const auto table = slot_table();
  static_cast<void>(lent(kMiB, table));
  table->detach(nullptr);
  arena.reclaim();
  EXPECT_EQ(arena.used_bytes(), kMiB) << "it closed, but may still read";
  table->abandon();
  arena.reclaim();
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST_F(ArenaTest, KeepsWhatIsHeldHere) {
  auto block = arena.allocate(kMiB, Force::no).value();
  const std::byte* const data = block->data();
  auto hold = Arena::hold(std::move(block));
  arena.reclaim();
  EXPECT_EQ(arena.find(data + 10, 100)->data(), data);
  EXPECT_EQ(arena.find(data + 10, kMiB), nullptr) << "reaches beyond the block";
  std::jthread([&] { hold.reset(); }).join();
  EXPECT_EQ(arena.find(data, 1), nullptr);
  arena.reclaim();
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST_F(ArenaTest, LetsAHeldBlockBeSentMoreOftenThanThereAreSlots) {
  const auto table = slot_table();
  auto block = arena.allocate(kMiB, Force::no).value();
  const auto hold = Arena::hold(block);
  for (std::uint32_t i = 0; i < 3 * kSlots; ++i) {
    const auto slot = table->take();
    ASSERT_TRUE(slot.has_value()) << i;
    block->lend(table, *slot);
    table->memory().slot(*slot).store(0);
  }
}

TEST_F(ArenaTest, SaysWhenItsLimitIsReachedAndRecovers) {
  const auto table = slot_table();
  for (int i = 0; i < 16; ++i) static_cast<void>(lent(kMiB, table));
  EXPECT_TRUE(arena.scarce());
  auto refused = arena.allocate(kMiB, Force::no);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().is(Errc::would_block)) << refused.error().message();
  EXPECT_TRUE(arena.allocate(kMiB, Force::yes).has_value());
  table->memory().slot(3).store(0);
  EXPECT_TRUE(arena.allocate(kMiB, Force::no).has_value());
}

TEST_F(ArenaTest, JoinsFreeNeighbours) {
  const auto table = slot_table();
  for (int i = 0; i < 16; ++i) static_cast<void>(lent(kMiB, table));
  // Not in order: 1, 3, then 2 between them, then 0.
  for (const std::uint32_t slot : {1u, 3u, 2u, 0u}) {
    table->memory().slot(slot).store(0);
    arena.reclaim();
  }
  EXPECT_TRUE(arena.allocate(4 * kMiB, Force::no).has_value());
}

TEST_F(ArenaTest, GivesIdleSegmentsBack) {
  const auto table = slot_table();
  static_cast<void>(lent(kMiB, table));
  table->memory().slot(0).store(0);
  ASSERT_TRUE(arena.next_retirement().has_value());
  clock.time = *arena.next_retirement();
  arena.retire_idle();
  EXPECT_GT(arena.total_bytes(), 0u) << "it was in use until now";
  clock.time = *arena.next_retirement();
  arena.retire_idle();
  EXPECT_EQ(arena.total_bytes(), 0u);
  EXPECT_EQ(arena.take_retired(), std::vector<std::uint32_t>{1});
  EXPECT_FALSE(arena.next_retirement().has_value());
}

TEST_F(ArenaTest, MakesRoomForALargeBlockByDroppingUnusedSegments) {
  const auto table = slot_table();
  for (std::uint32_t i = 0; i < 4; ++i) {
    static_cast<void>(lent(4 * kMiB, table));
  }
  for (std::uint32_t i = 0; i < 4; ++i) table->memory().slot(i).store(0);
  EXPECT_TRUE(arena.allocate(15 * kMiB, Force::no).has_value());
  EXPECT_LE(arena.total_bytes(), 16 * kMiB);
}

class PlacerTest : public ArenaTest {
 protected:
  std::shared_ptr<Block> place(const Body& body) {
    Placement& placement = placer.plan(body);
    EXPECT_TRUE(placer.fill(body, placement, Force::no).has_value());
    if (placement.pieces.empty()) return nullptr;
    auto block = placement.pieces.front().block;
    block->lend(table, table->take().value());
    placement.pieces.clear();
    return block;
  }

  std::shared_ptr<SlotTable> table = slot_table();
  Placer placer{arena, 1000};
};

Buffer buffer_of(std::size_t size) {
  return Buffer::take(std::vector<std::byte>(size, std::byte{7}));
}

TEST_F(PlacerTest, CopiesABodyOnceForManyPeers) {
  const Body body = Body::bytes(buffer_of(kMiB));
  const auto block = place(body);
  EXPECT_EQ(place(Body(body)), block);
  EXPECT_EQ(arena.used_bytes(), kMiB);
  EXPECT_NE(place(Body::bytes(buffer_of(kMiB))), block) << "the same size is not the same body";
}

TEST_F(PlacerTest, CopiesAgainWhenTheCopyIsGone) {
  const Body body = Body::bytes(buffer_of(kMiB));
  ASSERT_NE(place(body), nullptr);
  table->memory().slot(0).store(0);
  arena.reclaim();
  ASSERT_NE(place(body), nullptr);
  EXPECT_EQ(arena.used_bytes(), kMiB);
}

TEST_F(PlacerTest, TakesWhatLiesInTheArenaAsItIs) {
  auto lent_block = arena.allocate(kMiB, Force::no).value();
  const std::byte* const data = lent_block->data();
  auto hold = Arena::hold(lent_block);
  // A part of the block, under another owner, as a view of an array is.
  const auto other_owner = std::make_shared<std::shared_ptr<void>>(std::move(hold));
  const Body body =
      Body::python(buffer_of(10), {Buffer::share({data + 64, kMiB / 2}, other_owner)});
  Placement& placement = placer.plan(body);
  ASSERT_EQ(placement.pieces.size(), 1u);
  EXPECT_EQ(placement.pieces[0].block, lent_block);
  EXPECT_EQ(placement.pieces[0].offset, lent_block->offset() + 64);
  EXPECT_EQ(placement.copied_bytes, 0u);
  EXPECT_EQ(placement.ring_bytes, 10u);
}

}  // namespace
}  // namespace muster::comm::shm
