#include "muster/engine/storage/chunk_store.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"
#include "muster/engine/value/array.h"

namespace muster::engine {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<ChunkStore> small_store() {
  return ChunkStore::open({.budget = 64 * kKiB, .wait = 10s}).value();
}

TEST(ChunkStore, GivesASealedChunkWithoutCopyingIt) {
  const auto store = small_store();
  auto writer = store->create(kA, 1000).value();
  std::byte* const where = writer.bytes().data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(where) % 64, 0u);
  where[999] = std::byte{7};
  writer.seal();
  const auto chunk = store->get(kA).value();
  EXPECT_EQ(chunk.bytes().data(), where);
  EXPECT_EQ(chunk.bytes()[999], std::byte{7});
  EXPECT_EQ(chunk.place().length, 1000u);
}

TEST(ChunkStore, BecomesAnArrayThatKeepsTheChunkPinned) {
  const auto store = small_store();
  auto writer = store->create(kA, 3 * sizeof(double)).value();
  const double items[] = {1, 2, 3};
  std::memcpy(writer.bytes().data(), items, sizeof items);
  Array array;
  {
    const auto chunk = writer.seal();
    array = Array::share(Type::f64, {3}, {8}, chunk.bytes().data(), chunk.owner());
  }
  EXPECT_EQ(store->stats().pinned, 24u);
  EXPECT_EQ(array.as<double>()[2], 3);
  array = {};
  EXPECT_EQ(store->stats().pinned, 0u);
}

TEST(ChunkStore, HasNothingThatWasNotSealed) {
  const auto store = small_store();
  {
    const auto writer = store->create(kA, 1000).value();
    EXPECT_FALSE(store->contains(kA));
    const auto early = store->get(kA, in(1ms));
    EXPECT_TRUE(early.error().is(StorageErrc::timeout)) << early.error().message();
  }
  EXPECT_TRUE(store->get(kA).error().is(StorageErrc::absent));
  EXPECT_EQ(store->stats().used, 0u);
  EXPECT_EQ(store->stats().chunks, 0u);
}

TEST(ChunkStore, WaitsForAChunkThatIsBeingWritten) {
  const auto store = small_store();
  auto writer = store->create(kA, 1000).value();
  std::jthread reader([&] { EXPECT_TRUE(store->get(kA).has_value()); });
  writer.seal();
  reader.join();
}

TEST(ChunkStore, RefusesAKeyThatIsTaken) {
  const auto store = small_store();
  const auto writer = store->create(kA, 10).value();
  EXPECT_TRUE(store->create(kA, 10).error().is(StorageErrc::exists));
}

TEST(ChunkStore, IsSealedOnlyOnce) {
  const auto store = small_store();
  auto writer = store->create(kA, 10).value();
  writer.seal();
  EXPECT_THROW(writer.seal(), std::logic_error);
}

TEST(ChunkStore, DropsAChunkWithItsLastReference) {
  const auto store = small_store();
  ASSERT_TRUE(put(*store, kA, 1000));
  ASSERT_TRUE(store->retain(kA));
  ASSERT_TRUE(store->release(kA));
  EXPECT_TRUE(store->contains(kA));
  ASSERT_TRUE(store->release(kA));
  EXPECT_FALSE(store->contains(kA));
  EXPECT_EQ(store->stats().used, 0u);
  EXPECT_TRUE(store->release(kA).error().is(StorageErrc::absent));
  EXPECT_TRUE(store->retain(kA).error().is(StorageErrc::absent));
}

TEST(ChunkStore, KeepsWhatIsPinnedAfterItWasDroppedAndMadeAnew) {
  const auto store = small_store();
  const auto old = put(*store, kA, 1000).value();
  EXPECT_TRUE(store->drop(kA));
  EXPECT_FALSE(store->drop(kA));
  const auto fresh = put(*store, kA, 2000).value();
  EXPECT_TRUE(same(old.bytes(), test_bytes(kA, 1000)));
  EXPECT_NE(old.place().offset, fresh.place().offset);
}

TEST(ChunkStore, DropsTheChunksOfASession) {
  const auto store = small_store();
  ASSERT_TRUE(put(*store, {1, 1}, 100));
  ASSERT_TRUE(put(*store, {1, 2}, 100));
  ASSERT_TRUE(put(*store, {2, 1}, 100));
  EXPECT_EQ(store->drop_session(1), 2u);
  const auto left = store->holdings();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, (ChunkKey{2, 1}));
  EXPECT_TRUE(left[0].in_memory);
}

TEST(ChunkStore, RefusesAChunkThatCanNeverFit) {
  const auto store = small_store();
  const auto writer = store->create(kA, 65 * kKiB);
  ASSERT_FALSE(writer);
  EXPECT_TRUE(writer.error().is(StorageErrc::too_large));
  EXPECT_NE(writer.error().message().find("workerCacheSize"), std::string::npos);
  EXPECT_TRUE(store->create(kA, 64 * kKiB)) << "the key is free again";
}

TEST(ChunkStore, NamesTheRemedyWhenThereIsNowhereToSpillTo) {
  const auto store = small_store();
  ASSERT_TRUE(put(*store, kA, 40 * kKiB));
  const auto writer = store->create(kB, 40 * kKiB);
  ASSERT_FALSE(writer);
  EXPECT_TRUE(writer.error().is(StorageErrc::no_room));
  EXPECT_NE(writer.error().message().find("spillDirs"), std::string::npos);
  EXPECT_TRUE(store->get(kA)) << "what is there stays there";
}

TEST(ChunkStore, GivesUpAtTheDeadlineWhenEverythingIsPinned) {
  const TestFolder folder;
  const auto store =
      ChunkStore::open({.budget = 64 * kKiB, .spill = {.directories = {folder.path()}}}).value();
  const auto pinned = put(*store, kA, 40 * kKiB).value();
  const auto writer = store->create(kB, 40 * kKiB, {.deadline = in(20ms)});
  ASSERT_FALSE(writer);
  EXPECT_TRUE(writer.error().is(StorageErrc::no_room));
  EXPECT_NE(writer.error().message().find("40960 pinned"), std::string::npos)
      << writer.error().message();
  EXPECT_EQ(store->stats().waiting, 0u);
}

TEST(ChunkStore, GoesOnWhenAReaderLetsGo) {
  const auto store = small_store();
  auto pinned = std::make_unique<PinnedChunk>(put(*store, kA, 40 * kKiB).value());
  store->drop(kA);
  std::jthread writer([&] { EXPECT_TRUE(put(*store, kB, 40 * kKiB)); });
  ASSERT_TRUE(eventually([&] { return store->stats().waiting == 1; }));
  pinned.reset();
  writer.join();
}

TEST(ChunkStore, LetsASmallChunkPassALargeOneThatWaitsForReaders) {
  const auto store = small_store();
  auto pinned = std::make_unique<PinnedChunk>(put(*store, kA, 40 * kKiB).value());
  store->drop(kA);
  std::jthread large([&] { EXPECT_TRUE(put(*store, kB, 40 * kKiB)); });
  ASSERT_TRUE(eventually([&] { return store->stats().waiting == 1; }));
  EXPECT_TRUE(put(*store, {1, 3}, kKiB));
  pinned.reset();
  large.join();
}

TEST(ChunkStore, EndsAllWaitsWhenItIsStopped) {
  const auto store = small_store();
  const auto pinned = put(*store, kA, 40 * kKiB).value();
  std::jthread writer(
      [&] { EXPECT_TRUE(store->create(kB, 40 * kKiB).error().is(StorageErrc::closed)); });
  ASSERT_TRUE(eventually([&] { return store->stats().waiting == 1; }));
  store->stop();
  store->stop();
  writer.join();
  EXPECT_TRUE(store->get(kA).error().is(StorageErrc::closed));
  EXPECT_TRUE(same(pinned.bytes(), test_bytes(kA, 40 * kKiB)));
}

TEST(ChunkStore, LivesAsLongAsWhatWasGotFromIt) {
  auto store = small_store();
  auto chunk = put(*store, kA, 1000).value();
  const std::weak_ptr<ChunkStore> watched = store;
  store.reset();
  EXPECT_TRUE(same(chunk.bytes(), test_bytes(kA, 1000)));
  chunk = {};
  EXPECT_TRUE(watched.expired());
}

TEST(ChunkStore, KeepsChunksWithoutBytes) {
  const auto store = small_store();
  ASSERT_TRUE(put(*store, kA, 0));
  EXPECT_EQ(store->get(kA).value().bytes().size(), 0u);
}

TEST(ChunkStore, TakesABlockThatIsNamedLater) {
  const auto store = *ChunkStore::open({.budget = 1u << 20});
  auto block = store->take_block(1000);
  ASSERT_TRUE(block);
  EXPECT_TRUE(store->holdings().empty());
  const auto bytes = test_bytes({1, 2}, 1000);
  std::copy(bytes.begin(), bytes.end(), block->bytes().begin());
  const std::byte* const data = block->bytes().data();
  ASSERT_TRUE(block->seal_as({1, 2}));
  const auto got = store->get({1, 2});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes().data(), data) << "it stays where it is";
  EXPECT_TRUE(same(got->bytes(), bytes));
  EXPECT_EQ(store->size_of({1, 2}), 1000u);
}

TEST(ChunkStore, FreesABlockThatWasNeverNamed) {
  const auto store = *ChunkStore::open({.budget = 1u << 20});
  {
    const auto block = store->take_block(1000);
  }
  EXPECT_EQ(store->stats().used, 0u);
  ASSERT_TRUE(put(*store, {1, 2}, 10));
  auto block = store->take_block(1000);
  const auto sealed = block->seal_as({1, 2});
  ASSERT_FALSE(sealed);
  EXPECT_TRUE(sealed.error().is(StorageErrc::exists));
  EXPECT_TRUE(block->seal_as({1, 3})) << "another key will do";
}

TEST(ChunkStore, HasNoBlockWhereThatWouldHaveToWait) {
  const auto store = *ChunkStore::open({.budget = 64 * kKiB});
  const auto pinned = put(*store, {1, 1}, 60 * kKiB);
  EXPECT_FALSE(store->take_block(10 * kKiB));
  EXPECT_FALSE(store->take_block(100 * kKiB)) << "it is larger than the store";
}

}  // namespace
}  // namespace muster::engine
