#include "muster/engine/storage/spill_directory.h"

#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

TEST(SpillDirectory, IsGoneWithItsOwner) {
  const TestFolder folder;
  {
    const auto directory = SpillDirectory::open(folder.path("spill/deep"));
    ASSERT_TRUE(directory) << directory.error().message();
    struct stat status{};
    ASSERT_EQ(::stat(directory->folder().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::ofstream(directory->folder() + "/a.chunk") << "x";
    EXPECT_EQ(folder.chunk_files().size(), 1u);
  }
  EXPECT_TRUE(folder.files().empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("spill/deep")));
}

TEST(SpillDirectory, IsGoneThoughOthersRemoveFilesMeanwhile) {
  const TestFolder folder;
  auto directory = SpillDirectory::open(folder.path());
  ASSERT_TRUE(directory) << directory.error().message();
  std::vector<std::string> files;
  for (int i = 0; i < 3'000; ++i) {
    files.push_back(fmt::format("{}/{}.chunk", directory->folder(), i));
    std::ofstream(files.back()) << "x";
  }
  std::jthread other([&files] {
    for (const std::string& file : files) ::unlink(file.c_str());
  });
  directory->remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SpillDirectory, LeavesThoseOfLivingOwnersAlone) {
  const TestFolder folder;
  const auto first = SpillDirectory::open(folder.path());
  std::ofstream(first->folder() + "/a.chunk") << "x";
  const auto second = SpillDirectory::open(folder.path());
  EXPECT_NE(first->folder(), second->folder());
  EXPECT_EQ(folder.chunk_files().size(), 1u);
}

TEST(SpillDirectory, RemovesWhatNobodyHoldsTheLockOf) {
  const TestFolder folder;
  const std::string old = folder.path("muster-spill-0123456789abcdef");
  std::ofstream(old + ".lock") << "";
  std::filesystem::create_directory(old);
  std::ofstream(old + "/a.chunk") << "x";
  std::ofstream(folder.path("of somebody else")) << "x";
  const auto directory = SpillDirectory::open(folder.path());
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_FALSE(std::filesystem::exists(old + ".lock"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("of somebody else")));
}

TEST(SpillDirectory, NamesADirectoryThatCannotBe) {
  const TestFolder folder;
  std::ofstream(folder.path("file")) << "x";
  const auto directory = SpillDirectory::open(folder.path("file/spill"));
  ASSERT_FALSE(directory);
  EXPECT_TRUE(directory.error().is(StorageErrc::invalid));
  EXPECT_NE(directory.error().message().find(folder.path("file/spill")), std::string::npos);
  EXPECT_NE(directory.error().message().find("spillDirs"), std::string::npos);
}

}  // namespace
}  // namespace muster::engine
