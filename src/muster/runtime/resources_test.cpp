#include "muster/runtime/resources.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace muster {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(Resources, AreThere) {
  EXPECT_GE(usable_processors(), 1u);
  EXPECT_GT(usable_memory(), 1u << 20);
}

TEST(Resources, TakeTheLowestLimitOnTheWayUpInVersion2) {
  const test::TempDir root;
  write(root.path() / "pods/memory.max", "4096\n");
  write(root.path() / "pods/one/memory.max", "max\n");
  EXPECT_EQ(memory_limit("0::/pods/one\n", root.path().string()), 4096u);
  EXPECT_EQ(memory_limit("0::/others\n", root.path().string()), std::nullopt);
  write(root.path() / "memory.max", "1024\n");
  EXPECT_EQ(memory_limit("0::/pods/one\n", root.path().string()), 1024u);
}

TEST(Resources, TakeTheMemoryGroupOfVersion1) {
  const test::TempDir root;
  write(root.path() / "memory/docker/7f/memory.limit_in_bytes", "8192\n");
  write(root.path() / "cpu/docker/7f/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(
      memory_limit("2:cpu,cpuacct:/docker/7f\n4:memory,hugetlb:/docker/7f\n", root.path().string()),
      8192u);
  EXPECT_EQ(memory_limit("garbage\n:\n\n", root.path().string()), std::nullopt);
}

}  // namespace
}  // namespace muster
