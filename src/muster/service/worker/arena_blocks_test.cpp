#include "muster/service/worker/arena_blocks.h"

#include <cstring>

#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"
#include "muster/service/protocol/chunks.h"

namespace muster::service {
namespace {

using engine::Array;
using engine::ChunkKey;
using engine::ChunkStore;
using engine::Memory;
using engine::Type;

constexpr ChunkKey kKey{1, 2};

class ArenaBlocksTest : public testing::Test {
 protected:
  Array filled(engine::Shape shape) {
    Array array(*memory, Type::f64, std::move(shape));
    for (engine::Index i = 0; i < array.size(); ++i)
      array.mutable_as<double>()[i] = static_cast<double>(i);
    return array;
  }

  std::shared_ptr<ChunkStore> store = *ChunkStore::open({.budget = 8u << 20});
  std::shared_ptr<Memory> memory = Memory::make(0, std::make_shared<ArenaBlocks>(store));
};

TEST_F(ArenaBlocksTest, SealsAWholeArrayWhereItIs) {
  Array array = filled({100, 200});
  const std::byte* const items = array.data();
  const auto sealed = ArenaBlocks::seal(array, kKey, 0);
  ASSERT_TRUE(sealed && sealed->has_value());
  array = {};
  const auto pinned = store->get(kKey);
  ASSERT_TRUE(pinned);
  const Array chunk = chunk_array(pinned->bytes(), pinned->owner());
  EXPECT_EQ(chunk.data(), items);
  EXPECT_EQ(chunk.shape(), (engine::Shape{100, 200}));
  EXPECT_EQ(chunk.as<double>()[19'999], 19'999);
}

TEST_F(ArenaBlocksTest, LeavesAloneWhatIsNoWholeBlock) {
  const Array array = filled({100, 200});
  EXPECT_FALSE(ArenaBlocks::seal(array.slice({0, 0}, {50, 200}), kKey, 0)) << "a part";
  EXPECT_FALSE(ArenaBlocks::seal(array.slice({1, 0}, {99, 200}), kKey, 0)) << "the end";
  EXPECT_FALSE(ArenaBlocks::seal(array.transposed({1, 0}), kKey, 0)) << "not in C order";
  EXPECT_FALSE(ArenaBlocks::seal(filled({3}), kKey, 0)) << "small ones are on the heap";
  EXPECT_TRUE(ArenaBlocks::seal(array, kKey, 0));
  EXPECT_FALSE(ArenaBlocks::seal(array, {1, 3}, 0)) << "it is a chunk already";
}

TEST_F(ArenaBlocksTest, FreesBlocksThatNobodySealed) {
  {
    const Array array = filled({100, 200});
  }
  EXPECT_EQ(store->stats().used, 0u);
  const Array array = filled({100, 200});
  ASSERT_TRUE(ArenaBlocks::seal(filled({100, 100}), kKey, 0)->has_value());
  const auto again = ArenaBlocks::seal(array, kKey, 0);
  ASSERT_TRUE(again && !again->has_value());
  EXPECT_TRUE(again->error().is(engine::StorageErrc::exists));
}

TEST_F(ArenaBlocksTest, FallsBackToTheHeapWhenTheArenaIsFull) {
  const Array large = filled({1000, 1000});
  const Array other = filled({1000, 100});
  EXPECT_GT(memory->in_use(), 0u);
  EXPECT_FALSE(ArenaBlocks::seal(other, kKey, 0));
}

}  // namespace
}  // namespace muster::service
