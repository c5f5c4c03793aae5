#include "muster/engine/storage/arena.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"
#include "muster/runtime/unix_socket.h"

namespace muster::engine {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Arenas : public testing::TestWithParam<const char*> {};

Packet next_packet(const FileDescriptor& socket) {
  Packet packet;
  pollfd waiting{socket.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 30'000) != 1 ||
      receive_packet(socket, 100, packet) != PacketStatus::done) {
    return {};
  }
  return packet;
}

/// What a reader sees, as an exit status.
int be_reader(const std::string& name) {
  ::alarm(60);
  const auto socket = connect_unix(name);
  if (!socket) return 1;
  const Packet packet = next_packet(*socket);
  if (packet.files.size() != 1) return 2;
  const auto reader = ArenaReader::map(packet.files[0]);
  if (!reader) return 3;
  BlockPlace place;
  std::memcpy(&place, packet.bytes.data(), sizeof place);
  const auto bytes = reader->at(place);
  if (!bytes || !same(*bytes, test_bytes(kKey, place.length))) return 4;
  if (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, packet.files[0].get(), 0) !=
      MAP_FAILED) {
    return 5;
  }
  if (reader->at({place.offset, 100 * kMiB}) || reader->at({static_cast<std::size_t>(-1), 1}))
    return 6;
  return 0;
}

TEST_P(Arenas, AreReadButNotWrittenByAnotherProcess) {
  const std::string name = fmt::format("muster-test-{:016x}", secure_random_u64());
  const auto listener = listen_unix(name).value();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(be_reader(name));
  auto arena = Arena::open(GetParam(), 8 * kMiB);
  ASSERT_TRUE(arena) << arena.error().message();
  const BlockPlace place{3 * kMiB - 100, 200'000};
  ASSERT_TRUE(arena->reserve(place));
  const auto bytes = test_bytes(kKey, place.length);
  std::copy(bytes.begin(), bytes.end(), arena->data() + place.offset);

  const auto file = arena->reader_file().value();
  pollfd waiting{listener.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 30'000), 1);
  const auto socket = accept_unix(listener).value().value();
  const std::array files{file.get()};
  ASSERT_EQ(send_packet(socket, std::as_bytes(std::span(&place, 1)), files), PacketStatus::done);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST_P(Arenas, TakeTheMemoryThatIsReservedAndNoMore) {
  auto arena = Arena::open(GetParam(), 64 * kMiB).value();
  const auto taken = [&] {
    struct stat status{};
    ::fstat(arena.reader_file().value().get(), &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  };
  EXPECT_EQ(taken(), 0u);
  ASSERT_TRUE(arena.reserve({5 * kMiB + 1, kMiB}));
  EXPECT_EQ(taken(), 2 * kMiB);
  ASSERT_TRUE(arena.reserve({4 * kMiB, 4 * kMiB}));
  EXPECT_EQ(taken(), 4 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(Places, Arenas, testing::Values("", "/dev/shm"), [](const auto& chosen) {
  return std::string(chosen.param).empty() ? "anonymous" : "folder";
});

TEST(Arena, HasNoNameInItsFolder) {
  const TestFolder folder;
  const auto arena = Arena::open(folder.path(), kMiB);
  ASSERT_TRUE(arena) << arena.error().message();
  EXPECT_TRUE(folder.files().empty());
}

TEST(Arena, IsRefusedWhenItsFolderIsSmaller) {
  struct statvfs room{};
  ASSERT_EQ(::statvfs("/dev/shm", &room), 0);
  const auto arena = Arena::open("/dev/shm", (room.f_blocks + 1) * room.f_frsize);
  ASSERT_FALSE(arena);
  EXPECT_TRUE(arena.error().is(StorageErrc::no_memory));
  EXPECT_NE(arena.error().message().find("workerCacheSize"), std::string::npos);
  EXPECT_NE(arena.error().message().find("'/dev/shm'"), std::string::npos);
}

TEST(Arena, IsRefusedWhenTheMachineIsSmaller) {
  const auto arena = Arena::open("", std::size_t{1} << 46);
  ASSERT_FALSE(arena);
  EXPECT_TRUE(arena.error().is(StorageErrc::no_memory));
}

TEST(Arena, NamesAPlaceThatIsNoFolder) {
  const auto arena = Arena::open("/nowhere/at/all", kMiB);
  ASSERT_FALSE(arena);
  EXPECT_TRUE(arena.error().is(StorageErrc::invalid));
  EXPECT_NE(arena.error().message().find("plasmaStore"), std::string::npos);
}

}  // namespace
}  // namespace muster::engine
