#include "muster/runtime/mapping.h"

#include <cstring>

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

}  // namespace
}  // namespace muster
