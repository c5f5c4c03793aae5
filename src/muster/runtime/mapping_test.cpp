#include "muster/runtime/mapping.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Mapping, SharesItsContentsThroughTheDescriptor) {
  auto fd = create_memory_file("muster-test", 8192);
  ASSERT_TRUE(fd.has_value());
  auto a = Mapping::map(fd->get(), 8192);
  auto b = Mapping::map(fd->get(), 8192, Populate::yes);
  ASSERT_TRUE(a.has_value() && b.has_value());
  std::memcpy(a->data() + 5000, "seen", 4);
  EXPECT_EQ(std::memcmp(b->data() + 5000, "seen", 4), 0);
}

TEST(Mapping, SaysWhenMemoryCannotBeReserved) {
  const auto fd = create_memory_file("muster-test", std::size_t{1} << 50);
  ASSERT_FALSE(fd.has_value());
  EXPECT_NE(fd.error().message().find("reserve 1125899906842624 bytes"), std::string::npos)
      << fd.error().message();
}

TEST(Mapping, ShowsARingTwiceInARow) {
  auto fd = create_memory_file("muster-test", 12288);
  ASSERT_TRUE(fd.has_value());
  auto ring = Mapping::map_ring(fd->get(), 4096, 8192);
  ASSERT_TRUE(ring.has_value());
  EXPECT_EQ(ring->size(), 4096u + 2 * 8192u);
  std::memcpy(ring->data() + 4096 + 8190, "wrap", 4);
  EXPECT_EQ(std::memcmp(ring->data() + 4096, "ap", 2), 0);
}

TEST(MemoryFile, IsTrustedOnlyWhenItIsSealedAndReserved) {
  const auto good = create_memory_file("muster-test", 8192);
  EXPECT_EQ(memory_file_bytes(good->get()).value(), 8192u);
  const FileDescriptor unsealed(::memfd_create("muster-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 8192), 0);
  EXPECT_FALSE(memory_file_bytes(unsealed.get()).has_value());
  ASSERT_EQ(::fcntl(unsealed.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(memory_file_bytes(unsealed.get()).has_value());
  const FileDescriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(memory_file_bytes(file.get()).has_value());
}

}  // namespace
}  // namespace muster
