// A chunk store used by several threads, and by a process that is killed.
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kThreadsBudget = 256 * kKiB;

std::size_t size_of(ChunkKey key) { return 1000 + key.chunk * 977 % 20'000; }

StoreOptions options_for_threads(const TestFolder& folder, bool lock_free = false) {
  return {.budget = kThreadsBudget,
          .spill = {.directories = {folder.path("a"), folder.path("b")},
                    .lock_free_file_io = lock_free},
          .wait = 50s};
}

/// Makes, reads and drops chunks that others read too.
void work(ChunkStore& store, std::uint64_t thread, std::uint64_t rounds) {
  Random random(thread);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const ChunkKey mine{thread, i};
    const auto made =
        put(store, mine, size_of(mine), {.seconds = 1e-4 * static_cast<double>(random.below(10))});
    ASSERT_TRUE(made) << made.error().message();
    for (int reads = 0; reads < 3; ++reads) {
      const ChunkKey other{random.below(4), random.below(i + 1)};
      const auto chunk = store.get(other);
      if (chunk) {
        ASSERT_TRUE(same(chunk->bytes(), test_bytes(other, size_of(other))));
      } else {
        ASSERT_TRUE(chunk.error().is(StorageErrc::absent)) << chunk.error().message();
      }
    }
    if (random.chance(0.3)) store.drop({thread, random.below(i + 1)});
  }
}

void run_threads(const TestFolder& folder, bool lock_free) {
  const auto store = ChunkStore::open(options_for_threads(folder, lock_free)).value();
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&store, thread] { work(*store, thread, 60); });
  for (auto& thread : threads) thread.join();
  EXPECT_GT(store->stats().spills, 0u);
  EXPECT_EQ(store->stats().pinned, 0u);
  for (std::uint64_t session = 0; session < 4; ++session) store->drop_session(session);
  EXPECT_TRUE(eventually([&] { return store->stats().used == 0; })) << "files being written end";
  EXPECT_EQ(store->stats().disk_bytes, 0u);
}

TEST(StoreThreads, MakeReadAndDropChunksAtOnce) {
  const TestFolder folder;
  run_threads(folder, false);
  EXPECT_TRUE(folder.files().empty());
}

TEST(StoreThreads, NeedNoLocksForTheDirectories) {
  const TestFolder folder;
  run_threads(folder, true);
}

TEST(StoreThreads, LoadASpilledChunkOnce) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_for_threads(folder)).value();
  const ChunkKey key{1, 1};
  ASSERT_TRUE(put(*store, key, 100 * kKiB));
  ASSERT_TRUE(put(*store, {1, 2}, kThreadsBudget));
  store->drop({1, 2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const auto chunk = store->get(key);
      ASSERT_TRUE(chunk);
      EXPECT_TRUE(same(chunk->bytes(), test_bytes(key, 100 * kKiB)));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store->stats().loads, 1u);
}

TEST(StoreThreads, GetAnErrorInsteadOfADeadlockWhenTheyPinEverything) {
  const TestFolder folder;
  const auto store = ChunkStore::open(options_for_threads(folder)).value();
  std::atomic<int> failed = 0;
  std::atomic<int> holding = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      const auto first = put(*store, {thread, 1}, 100 * kKiB);
      ++holding;
      while (holding < 2) std::this_thread::yield();
      // Both want more than is left, and neither lets go of what it has.
      const auto second = put(*store, {thread, 2}, 100 * kKiB, {.deadline = in(100ms)});
      if (!second && second.error().is(StorageErrc::no_room)) ++failed;
      ++holding;
      while (holding < 4) std::this_thread::yield();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 2);
}

TEST(StoreKilled, LeavesNothingAfterTheNextStart) {
  const TestFolder folder;
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    auto options = options_for_threads(folder);
    options.place = folder.path("arena");
    std::filesystem::create_directory(options.place);
    const auto store = ChunkStore::open(options).value();
    for (std::uint64_t i = 0; i < 20; ++i) static_cast<void>(put(*store, {1, i}, 50 * kKiB));
    static_cast<void>(!::write(pipe[1], "x", 1));
    for (;;) ::pause();
  }
  ::close(pipe[1]);
  char byte = 0;
  ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
  ::close(pipe[0]);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_GT(folder.chunk_files().size(), 10u) << "spilled and not removed";

  const auto store = ChunkStore::open(options_for_threads(folder)).value();
  EXPECT_TRUE(folder.chunk_files().empty());
  EXPECT_EQ(folder.files().size(), 2u) << "the locks of the new store";
}

}  // namespace
}  // namespace muster::engine
