#include "muster/engine/storage/spill_pool.h"

#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

std::future<Result<SpillFile>> write(SpillPool& pool, ChunkKey key, ByteSpan bytes) {
  auto promise = std::make_shared<std::promise<Result<SpillFile>>>();
  pool.write(key, bytes,
             [promise](Result<SpillFile> done) { promise->set_value(std::move(done)); });
  return promise->get_future();
}

TEST(SpillPool, UsesAllDirectories) {
  const TestFolder folder;
  const auto pool = SpillPool::open({.directories = {folder.path("a"), folder.path("b")}}).value();
  const auto bytes = test_bytes(kKey, 1000);
  std::set<std::size_t> lanes;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto file = write(*pool, {3, i}, bytes).get().value();
    lanes.insert(file.lane);
    std::vector<std::byte> back(bytes.size());
    ASSERT_TRUE(pool->read(file, {3, i}, back));
    EXPECT_TRUE(same(back, bytes));
    pool->remove(file);
  }
  EXPECT_EQ(lanes.size(), 2u);
  EXPECT_TRUE(folder.chunk_files().empty());
}

std::uint64_t inode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

TEST(SpillPool, WritesFilesAgainThatAreNotNeededAnyMore) {
  const TestFolder folder;
  for (const auto compression : {SpillCompression::none, SpillCompression::lz4}) {
    const auto pool =
        SpillPool::open({.directories = {folder.path("a")}, .compression = compression}).value();
    std::optional<std::uint64_t> inode;
    // Shorter, longer and as long as the one before.
    for (const std::size_t size : {1000, 900, 2000, 2000}) {
      const auto bytes = test_bytes(kKey, size);
      const auto file = write(*pool, kKey, bytes).get().value();
      const std::uint64_t own = inode_of(file.path);
      EXPECT_EQ(own, inode.value_or(own));
      inode = own;
      EXPECT_EQ(std::filesystem::file_size(file.path), file.bytes);
      std::vector<std::byte> back(bytes.size());
      ASSERT_TRUE(pool->read(file, kKey, back));
      EXPECT_TRUE(same(back, bytes));
      pool->remove(file);
      EXPECT_FALSE(pool->read(file, kKey, back)) << "it is nobody's any more";
    }
  }
}

TEST(SpillPool, WritesAnotherFileWhereASpareOneIsGone) {
  const TestFolder folder;
  const auto pool = SpillPool::open({.directories = {folder.path("a")}}).value();
  const auto bytes = test_bytes(kKey, 1000);
  const auto file = write(*pool, kKey, bytes).get().value();
  pool->remove(file);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path("a")))
    if (entry.path().filename().string().starts_with("spare-")) ::unlink(entry.path().c_str());
  EXPECT_TRUE(write(*pool, kKey, bytes).get());
}

TEST(SpillPool, GoesOnWithTheOtherDirectoriesWhenOneRefuses) {
  const TestFolder folder;
  const auto pool = SpillPool::open({.directories = {folder.path("a"), folder.path("b")}}).value();
  std::filesystem::remove_all(folder.path("a"));
  const auto bytes = test_bytes(kKey, 1000);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto file = write(*pool, {3, i}, bytes).get();
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->lane, 1u);
  }
}

TEST(SpillPool, NamesEveryDirectoryWhenAllRefuse) {
  const TestFolder folder;
  const auto pool = SpillPool::open({.directories = {folder.path("a"), folder.path("b")}}).value();
  std::filesystem::remove_all(folder.path("a"));
  std::filesystem::remove_all(folder.path("b"));
  const auto bytes = test_bytes(kKey, 1000);
  const auto file = write(*pool, kKey, bytes).get();
  ASSERT_FALSE(file);
  EXPECT_TRUE(file.error().is(StorageErrc::spill_failed));
  EXPECT_NE(file.error().message().find(folder.path("a")), std::string::npos);
  EXPECT_NE(file.error().message().find(folder.path("b")), std::string::npos);
}

TEST(SpillPool, WritesInParallelWithoutLocks) {
  const TestFolder folder;
  const auto pool =
      SpillPool::open({.directories = {folder.path("a")}, .lock_free_file_io = true}).value();
  const auto bytes = test_bytes(kKey, 100'000);
  std::vector<std::future<Result<SpillFile>>> files;
  for (std::uint64_t i = 0; i < 20; ++i) files.push_back(write(*pool, {3, i}, bytes));
  for (auto& file : files) EXPECT_TRUE(file.get());
  EXPECT_EQ(folder.chunk_files().size(), 20u);
}

TEST(SpillPool, AnswersEveryWriteWhenItIsStopped) {
  const TestFolder folder;
  const auto pool = SpillPool::open({.directories = {folder.path("a")}}).value();
  const auto bytes = test_bytes(kKey, 100'000);
  std::vector<std::future<Result<SpillFile>>> files;
  for (std::uint64_t i = 0; i < 20; ++i) files.push_back(write(*pool, {3, i}, bytes));
  pool->stop();
  files.push_back(write(*pool, {3, 99}, bytes));
  for (auto& file : files) {
    const auto done = file.get();
    EXPECT_TRUE(done || done.error().is(StorageErrc::closed));
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(SpillPool, RefusesAParallelismOfNothing) {
  EXPECT_TRUE(SpillPool::open({.io_parallelism = 0}).error().is(StorageErrc::invalid));
}

}  // namespace
}  // namespace muster::engine
