#include "muster/engine/value/memory.h"

#include <malloc.h>

#include <gtest/gtest.h>

namespace muster::engine {
namespace {

TEST(Memory, CountsWhatIsInUse) {
  const auto memory = Memory::make(10u << 20);
  {
    const auto block = memory->allocate(1u << 20);
    EXPECT_GE(memory->in_use(), 1u << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.get()) % 64, 0u);
  }
  EXPECT_EQ(memory->in_use(), 0u);
  EXPECT_GE(memory->peak(), 1u << 20);
}

TEST(Memory, BeginsLargeBlocksWhereAHugePageMayBegin) {
  const auto memory = Memory::make(100u << 20);
  const auto block = memory->allocate(17u << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.get()) % (2u << 20), 0u);
}

TEST(Memory, GivesAFreedBlockToTheNextOfItsSize) {
  const auto memory = Memory::make(10u << 20);
  const std::byte* const first = memory->allocate(1u << 20).get();
  EXPECT_EQ(memory->allocate((1u << 20) - 100).get(), first);
}

TEST(Memory, KeepsNoMoreThanItsLimitForReuse) {
  const auto memory = Memory::make(1u << 20);
  auto a = memory->allocate(1u << 20);
  auto b = memory->allocate(512u << 10);
  b.reset();  // together with `a` that would be more than the limit
  a.reset();
  EXPECT_EQ(memory->in_use(), 0u);
}

TEST(Memory, GivesLargeBlocksBackWhenThoseOfAnotherSizeAreWanted) {
  const auto memory = Memory::make(std::size_t{1} << 30);
  memory->allocate(64u << 20).reset();
  const std::size_t kept = ::mallinfo2().hblkhd;
  const auto other = memory->allocate(96u << 20);
  // Without the first one; zero where another allocator takes the place of malloc.
  EXPECT_LT(::mallinfo2().hblkhd, kept + (64u << 20));
}

TEST(Memory, OutlivesItsOwnerWhileABlockIsHeld) {
  auto memory = Memory::make(1u << 20);
  auto block = memory->allocate(100);
  memory.reset();
  block.get()[99] = std::byte{1};
  EXPECT_EQ(block.get()[99], std::byte{1});
}

TEST(Memory, TakesLargeBlocksFromItsSourceWhileThatHasSome) {
  struct OneBlock : BlockSource {
    std::shared_ptr<std::byte> block = Memory::make(0)->allocate(1u << 20);
    std::shared_ptr<std::byte> take(std::size_t) override { return std::exchange(block, nullptr); }
  };
  const auto source = std::make_shared<OneBlock>();
  const std::byte* const given = source->block.get();
  const auto memory = Memory::make(10u << 20, source);
  EXPECT_NE(memory->allocate(100).get(), given) << "small ones are not asked for";
  EXPECT_EQ(memory->allocate(100'000).get(), given);
  EXPECT_EQ(memory->in_use(), 0u);
  EXPECT_NE(memory->allocate(100'000).get(), nullptr) << "it has none any more";
}

}  // namespace
}  // namespace muster::engine
