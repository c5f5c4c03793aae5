#include "muster/engine/storage/spill_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "muster/engine/storage/compression.h"
#include "muster/engine/storage/errc.h"
#include "muster/engine/storage/storage_testing.h"

namespace muster::engine {
namespace {

class SpillFiles : public testing::TestWithParam<SpillCompression> {};

std::vector<std::byte> smooth_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i / 1000);
  return bytes;
}

TEST_P(SpillFiles, GivesBackWhatWasWritten) {
  const TestFolder folder;
  const std::string path = folder.path("a.chunk");
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kCompressionBlock - 1,
                                  kCompressionBlock, 3 * kCompressionBlock + 5}) {
    for (const auto& bytes : {test_bytes(kKey, count), smooth_bytes(count)}) {
      const auto length = write_spill_file(path, kKey, bytes, GetParam());
      ASSERT_TRUE(length) << length.error().message();
      EXPECT_EQ(*length, std::filesystem::file_size(path));
      std::vector<std::byte> back(count);
      const auto read = read_spill_file(path, kKey, back);
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_TRUE(same(back, bytes)) << count;
    }
  }
  EXPECT_EQ(folder.files().size(), 1u) << "no temporary file is left";
}

TEST_P(SpillFiles, NamesTheFileThatWasCutShort) {
  const TestFolder folder;
  const std::string path = folder.path("torn.chunk");
  const auto bytes = test_bytes(kKey, 5000);
  for (const std::size_t left : {0u, 10u, 64u, 4000u}) {
    ASSERT_TRUE(write_spill_file(path, kKey, bytes, GetParam()));
    std::filesystem::resize_file(path, left);
    std::vector<std::byte> back(bytes.size());
    const auto read = read_spill_file(path, kKey, back);
    ASSERT_FALSE(read) << left;
    EXPECT_TRUE(read.error().is(StorageErrc::corrupt));
    EXPECT_NE(read.error().message().find(path), std::string::npos);
    EXPECT_NE(read.error().message().find("chunk 3/17"), std::string::npos);
    EXPECT_NE(read.error().message().find("must be recomputed"), std::string::npos);
  }
}

TEST_P(SpillFiles, NeverGivesWrongBytesWhenTheFileChanged) {
  const TestFolder folder;
  const std::string path = folder.path("bad.chunk");
  auto bytes = smooth_bytes(300);
  const auto noise = test_bytes(kKey, 100);
  bytes.insert(bytes.end(), noise.begin(), noise.end());
  const std::size_t length = write_spill_file(path, kKey, bytes, GetParam()).value();
  std::string file(length, '\0');
  std::ifstream(path, std::ios::binary).read(file.data(), static_cast<std::streamsize>(length));
  for (std::size_t i = 0; i < length; ++i) {
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    std::ofstream(path, std::ios::binary) << changed;
    std::vector<std::byte> back(bytes.size());
    const auto read = read_spill_file(path, kKey, back);
    // Some bytes of a compressed block may change without changing what it stands for.
    ASSERT_FALSE(read && GetParam() == SpillCompression::none) << "byte " << i;
    ASSERT_TRUE(!read || same(back, bytes)) << "byte " << i;
    ASSERT_TRUE(read || read.error().is(StorageErrc::corrupt)) << read.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(All, SpillFiles,
                         testing::Values(SpillCompression::none, SpillCompression::lz4,
                                         SpillCompression::zstd),
                         compression_name);

TEST(SpillFileKeys, RefusesTheFileOfAnotherChunkOrSize) {
  const TestFolder folder;
  const std::string path = folder.path("a.chunk");
  ASSERT_TRUE(write_spill_file(path, kKey, test_bytes(kKey, 100), SpillCompression::none));
  std::vector<std::byte> back(100);
  EXPECT_TRUE(read_spill_file(path, {3, 18}, back).error().is(StorageErrc::corrupt));
  back.resize(99);
  EXPECT_TRUE(read_spill_file(path, kKey, back).error().is(StorageErrc::corrupt));
}

TEST(SpillFileKeys, SaysThatAMissingFileIsGone) {
  const TestFolder folder;
  std::vector<std::byte> back(1);
  const auto read = read_spill_file(folder.path("a.chunk"), kKey, back);
  EXPECT_TRUE(read.error().is(StorageErrc::corrupt));
  EXPECT_NE(read.error().message().find("is gone"), std::string::npos);
}

TEST(SpillFileSize, GetsSmallerWithCompression) {
  const TestFolder folder;
  const auto bytes = smooth_bytes(1'000'000);
  EXPECT_EQ(write_spill_file(folder.path("a"), kKey, bytes, SpillCompression::none).value(),
            1'000'064u);
  EXPECT_LT(write_spill_file(folder.path("b"), kKey, bytes, SpillCompression::lz4).value(),
            100'000u);
  EXPECT_LT(write_spill_file(folder.path("c"), kKey, bytes, SpillCompression::zstd).value(),
            100'000u);
}

TEST(SpillFileErrors, LeavesNothingWhereItCannotWrite) {
  const TestFolder folder;
  EXPECT_FALSE(
      write_spill_file(folder.path("none/a"), kKey, test_bytes(kKey, 10), SpillCompression::none));
  EXPECT_TRUE(folder.files().empty());
}

}  // namespace
}  // namespace muster::engine
