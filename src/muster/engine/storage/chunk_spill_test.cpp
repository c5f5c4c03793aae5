// What a chunk store does when its budget is used up.
#include <csignal>
#include <fstream>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBudget = 256 * kKiB;

StoreOptions options_in(const TestFolder& folder) {
  return {.budget = kBudget,
          .spill = {.directories = {folder.path("a"), folder.path("b")}},
          .wait = 30s};
}

class Spilling : public testing::TestWithParam<SpillCompression> {};

TEST_P(Spilling, LetsADataSetOfFourTimesTheBudgetThrough) {
  const TestFolder folder;
  auto options = options_in(folder);
  options.spill.compression = GetParam();
  const auto store = ChunkStore::open(options).value();
  constexpr std::size_t kChunk = 10'000;
  constexpr std::uint64_t kCount = 4 * kBudget / kChunk;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto chunk = put(*store, {1, i}, kChunk + i);
    ASSERT_TRUE(chunk) << chunk.error().message();
    EXPECT_LE(store->stats().used, kBudget);
  }
  EXPECT_GT(store->stats().chunks_on_disk, kCount / 2);
  EXPECT_GE(store->bytes_on_disk(), store->stats().chunks_on_disk * kChunk);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto chunk = store->get({1, i});
      ASSERT_TRUE(chunk) << chunk.error().message();
      ASSERT_TRUE(same(chunk->bytes(), test_bytes({1, i}, kChunk + i)));
    }
  }
  EXPECT_LE(store->stats().spills, kCount) << "what is on disk is not written again";
  EXPECT_EQ(store->drop_session(1), kCount);
  EXPECT_TRUE(eventually([&] { return store->stats().used == 0; })) << "files being written end";
  EXPECT_EQ(store->stats().disk_bytes, 0u);
  EXPECT_EQ(store->bytes_on_disk(), 0u);
  EXPECT_TRUE(eventually([&] { return folder.chunk_files().empty(); }));
}

INSTANTIATE_TEST_SUITE_P(All, Spilling,
                         testing::Values(SpillCompression::none, SpillCompression::lz4,
                                         SpillCompression::zstd),
                         compression_name);

TEST(Spill, NeverTakesWhatIsPinned) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  const auto pinned = put(*store, kA, 100 * kKiB).value();
  for (std::uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(put(*store, {2, i}, 50 * kKiB));
  EXPECT_EQ(store->get(kA).value().bytes().data(), pinned.bytes().data());
  EXPECT_TRUE(same(pinned.bytes(), test_bytes(kA, 100 * kKiB)));
}

TEST(Spill, FindsRoomInOnePieceAmongSmallChunks) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  for (std::uint64_t i = 0; i < 64; ++i) ASSERT_TRUE(put(*store, {2, i}, 4 * kKiB));
  for (std::uint64_t i = 0; i < 64; i += 2) store->drop({2, i});
  const auto large = put(*store, kA, 200 * kKiB);
  ASSERT_TRUE(large) << large.error().message();
}

/// A store whose chunk kA is on disk.
std::shared_ptr<ChunkStore> with_a_on_disk(const TestFolder& folder) {
  auto store = ChunkStore::open(options_in(folder)).value();
  EXPECT_TRUE(put(*store, kA, 100 * kKiB));
  EXPECT_TRUE(put(*store, kB, kBudget));
  EXPECT_EQ(store->stats().chunks_on_disk, 1u);
  store->drop(kB);
  return store;
}

TEST(Spill, DoesNotLetACallerWaitForItself) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  ASSERT_TRUE(put(*store, kA, 200 * kKiB));
  ASSERT_TRUE(put(*store, kB, 200 * kKiB));
  const auto held = store->get(kA).value();
  const auto never = SteadyClock().now() + 24h;
  const auto other = store->get(kB, never, 1);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is(StorageErrc::no_room)) << other.error().message();
}

TEST(Spill, BringsAChunkBackAndKeepsItsFile) {
  const TestFolder folder;
  const auto store = with_a_on_disk(folder);
  ASSERT_TRUE(store->get(kA));
  EXPECT_EQ(store->stats().loads, 1u);
  ASSERT_TRUE(store->get(kA));
  EXPECT_EQ(store->stats().loads, 1u) << "it is in memory now";
  ASSERT_TRUE(put(*store, kB, kBudget));
  EXPECT_EQ(store->stats().spills, 1u) << "and needs no writing to leave it again";
  EXPECT_TRUE(same(store->get(kA, in(30s)).value().bytes(), test_bytes(kA, 100 * kKiB)));
}

TEST(Spill, ReadsWhatIsOnDiskWithoutRoom) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(put(*store, {1, i}, 100 * kKiB));
  std::vector<PinnedChunk> all;  // two fit
  for (std::uint64_t i = 0; i < 2; ++i) all.push_back(store->get({1, i}).value());
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto bytes = store->read({1, i}, in(30s));
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_TRUE(same(bytes->bytes(), test_bytes({1, i}, 100 * kKiB)));
  }
  EXPECT_TRUE(store->read({1, 9}).error().is(StorageErrc::absent));
  EXPECT_EQ(store->stats().pinned, 200 * kKiB);
}

TEST(Spill, ReadingATornFileSaysSoAndForgetsTheChunk) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(put(*store, {1, i}, 100 * kKiB));
  ASSERT_TRUE(eventually([&] { return store->stats().chunks_on_disk >= 4; }));
  for (const std::string& file : folder.chunk_files())
    std::ofstream(file, std::ios::trunc) << "nonsense";
  std::size_t corrupt = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const auto bytes = store->read({1, i}, in(30s));
    if (bytes) continue;
    EXPECT_TRUE(bytes.error().is(StorageErrc::corrupt)) << bytes.error().message();
    EXPECT_FALSE(store->contains({1, i}));
    ++corrupt;
  }
  EXPECT_GE(corrupt, 4u);
}

TEST(Spill, SaysThatATornFileMustBeRecomputed) {
  const TestFolder folder;
  const auto store = with_a_on_disk(folder);
  const auto files = folder.chunk_files();
  ASSERT_EQ(files.size(), 1u);
  std::filesystem::resize_file(files[0], 5000);
  const auto chunk = store->get(kA);
  ASSERT_FALSE(chunk);
  EXPECT_TRUE(chunk.error().is(StorageErrc::corrupt));
  EXPECT_NE(chunk.error().message().find(files[0]), std::string::npos);
  EXPECT_NE(chunk.error().message().find("must be recomputed"), std::string::npos);
  EXPECT_EQ(store->stats().used, 0u);
  EXPECT_TRUE(folder.chunk_files().empty());
  EXPECT_TRUE(put(*store, kA, 100 * kKiB)) << "it can be made again";
}

TEST(Spill, DropsAChunkOnDiskWithItsFile) {
  const TestFolder folder;
  const auto store = with_a_on_disk(folder);
  EXPECT_TRUE(store->drop(kA));
  EXPECT_TRUE(folder.chunk_files().empty());
  EXPECT_EQ(store->stats().disk_bytes, 0u);
}

TEST(Spill, LeavesNoFilesBehind) {
  const TestFolder folder;
  with_a_on_disk(folder).reset();
  EXPECT_TRUE(folder.files().empty());
}

TEST(Spill, KeepsWhatWasDearAndWritesWhatWasCheap) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  ASSERT_TRUE(put(*store, kA, 100 * kKiB, {.seconds = 1}));
  ASSERT_TRUE(put(*store, kB, 100 * kKiB));
  ASSERT_TRUE(put(*store, kC, 100 * kKiB));
  for (const auto& holding : store->holdings()) EXPECT_TRUE(holding.in_memory || holding.key != kA);
}

TEST(Spill, WritesWhatIsNotExpectedFirst) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  const ExpectedChunks expected = store->expect({kA, {9, 9}});
  ASSERT_TRUE(put(*store, kA, 100 * kKiB));
  ASSERT_TRUE(put(*store, kB, 100 * kKiB, {.seconds = 1}));
  ASSERT_TRUE(put(*store, kC, 100 * kKiB));
  for (const auto& holding : store->holdings()) EXPECT_TRUE(holding.in_memory || holding.key == kB);
}

TEST(Spill, ExpectsNothingWhenTheHandleIsGone) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  ExpectedChunks expected = store->expect({kA});
  expected = store->expect({kB});
  expected = {};
  ASSERT_TRUE(put(*store, kA, 100 * kKiB));
  ASSERT_TRUE(put(*store, kB, 100 * kKiB));
  ASSERT_TRUE(put(*store, kC, 100 * kKiB));
  for (const auto& holding : store->holdings()) EXPECT_TRUE(holding.in_memory || holding.key == kA);
}

/// Files of this process cannot grow beyond `bytes` meanwhile.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(DiskFull, IsAnErrorThatNamesTheRemedyAndLosesNothing) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_in(folder)).value();
  ASSERT_TRUE(put(*store, kA, 200 * kKiB));
  {
    const FileSizeLimit limit(50 * kKiB);
    const auto writer = store->create(kB, 200 * kKiB);
    ASSERT_FALSE(writer);
    EXPECT_TRUE(writer.error().is(StorageErrc::disk_full)) << writer.error().message();
    for (const std::string part : {"spillDirs", "workerCacheSize", "/a/", "/b/"})
      EXPECT_NE(writer.error().message().find(part), std::string::npos) << part;
    EXPECT_TRUE(folder.chunk_files().empty());
    EXPECT_EQ(store->stats().failed_spills, 1u);
  }
  EXPECT_TRUE(same(store->get(kA).value().bytes(), test_bytes(kA, 200 * kKiB)));
  // While a reader holds something there is hope, so this waits until the disks are tried again.
  auto small = put(*store, kC, kKiB).value();
  EXPECT_TRUE(put(*store, kB, 200 * kKiB)) << "the disk has room again";
}

/// A file system of a few bytes, if we may mount one.
class SmallFileSystem {
 public:
  SmallFileSystem(std::string path, const char* size) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, size) == 0;
  }
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  ~SmallFileSystem() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(DiskFull, SendsFilesToTheDirectoriesThatHaveRoom) {
  const TestFolder folder;
  const SmallFileSystem small(folder.path("a"), "size=64k");
  if (!small.mounted()) GTEST_SKIP() << "may not mount a small file system";
  const auto store = ChunkStore::open(options_in(folder)).value();
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto chunk = put(*store, {1, i}, 50 * kKiB);
    ASSERT_TRUE(chunk) << chunk.error().message();
  }
  for (std::uint64_t i = 0; i < 20; ++i)
    EXPECT_TRUE(same(store->get({1, i}).value().bytes(), test_bytes({1, i}, 50 * kKiB)));
}

TEST(ArenaFull, IsAnErrorAndNotASignal) {
  const TestFolder folder;
  const SmallFileSystem small(folder.path("shm"), "size=4m");
  if (!small.mounted()) GTEST_SKIP() << "may not mount a small file system";
  const auto store =
      ChunkStore::open({.place = folder.path("shm"), .budget = 3 * 1024 * kKiB}).value();
  // Somebody else takes the room after the store was opened.
  std::ofstream(folder.path("shm/other")) << std::string(2500 * kKiB, 'x');
  const auto writer = store->create(kA, 2 * 1024 * kKiB);
  ASSERT_FALSE(writer);
  EXPECT_TRUE(writer.error().is(StorageErrc::no_memory)) << writer.error().message();
  EXPECT_NE(writer.error().message().find(folder.path("shm")), std::string::npos);
  EXPECT_EQ(store->stats().used, 0u);
  EXPECT_TRUE(put(*store, kA, 500 * kKiB));
}

}  // namespace
}  // namespace muster::engine
