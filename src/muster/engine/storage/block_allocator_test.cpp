#include "muster/engine/storage/block_allocator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster::engine {
namespace {

TEST(BlockAllocator, TakesTheSmallestGapThatFits) {
  BlockAllocator blocks(1024);
  const auto a = blocks.allocate(256).value();
  const auto b = blocks.allocate(64).value();
  const auto c = blocks.allocate(128).value();
  static_cast<void>(blocks.allocate(64).value());
  blocks.free(a);
  blocks.free(c);
  EXPECT_EQ(blocks.allocate(100).value(), c);
  EXPECT_EQ(blocks.allocate(200).value(), a);
  EXPECT_NE(b, a);
}

TEST(BlockAllocator, JoinsNeighboursThatAreFree) {
  BlockAllocator blocks(1024);
  const auto a = blocks.allocate(256).value();
  const auto b = blocks.allocate(256).value();
  const auto c = blocks.allocate(512).value();
  EXPECT_FALSE(blocks.allocate(1));
  blocks.free(a);
  blocks.free(c);
  EXPECT_FALSE(blocks.allocate(768));
  blocks.free(b);
  EXPECT_EQ(blocks.gaps(), 1u);
  EXPECT_EQ(blocks.allocate(1024).value(), 0u);
}

TEST(BlockAllocator, RefusesWhatIsLargerThanEverything) {
  BlockAllocator blocks(1000);
  EXPECT_EQ(blocks.capacity(), 960u);
  EXPECT_FALSE(blocks.allocate(961));
  EXPECT_FALSE(blocks.allocate(static_cast<std::size_t>(-1)));
}

TEST(BlockAllocator, GivesEmptyBlocksAPlaceOfTheirOwn) {
  BlockAllocator blocks(128);
  EXPECT_NE(blocks.allocate(0).value(), blocks.allocate(0).value());
  EXPECT_FALSE(blocks.allocate(0));
}

RC_GTEST_PROP(BlockAllocator, NeverOverlapsAndLosesNothing, ()) {
  constexpr std::size_t kBytes = 64 * 100;
  BlockAllocator blocks(kBytes);
  std::map<std::size_t, std::size_t> held;
  const auto steps = *rc::gen::container<std::vector<std::pair<bool, std::uint16_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<std::uint16_t>(0, 1500)));
  for (const auto& [take, number] : steps) {
    if (take || held.empty()) {
      if (const auto offset = blocks.allocate(number)) held.emplace(*offset, number);
    } else {
      auto gone = std::next(held.begin(), static_cast<std::ptrdiff_t>(number % held.size()));
      blocks.free(gone->first);
      held.erase(gone);
    }
    std::size_t end = 0;
    for (const auto& [offset, bytes] : held) {
      RC_ASSERT(offset >= end);
      RC_ASSERT(offset % BlockAllocator::kAlignment == 0u);
      end = offset + std::max<std::size_t>(bytes, 1);
    }
    RC_ASSERT(end <= kBytes);
    RC_ASSERT(blocks.gaps() <= held.size() + 1);
  }
  for (const auto& [offset, bytes] : held) blocks.free(offset);
  RC_ASSERT(blocks.used() == 0u);
  RC_ASSERT(blocks.largest_gap() == kBytes);
}

}  // namespace
}  // namespace muster::engine
