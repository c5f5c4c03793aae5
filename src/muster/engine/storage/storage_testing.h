#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "muster/base/random.h"
#include "muster/engine/storage/chunk_store.h"

namespace muster::engine {

/// A folder for one test, gone with it.
class TestFolder {
 public:
  TestFolder()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("muster-test-{:016x}", secure_random_u64())) {
    std::filesystem::create_directory(path_);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }
  /// All files in it, however deep.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_))
      if (entry.is_regular_file()) all.push_back(entry.path().string());
    return all;
  }
  [[nodiscard]] std::vector<std::string> chunk_files() const {
    auto all = files();
    std::erase_if(all, [](const std::string& name) { return !name.ends_with(".chunk"); });
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline constexpr std::size_t kKiB = 1024;

inline constexpr ChunkKey kA{1, 1};
inline constexpr ChunkKey kB{1, 2};
inline constexpr ChunkKey kC{1, 3};
inline constexpr ChunkKey kKey{3, 17};

/// The bytes that a test chunk has: different for each chunk and hard to compress.
[[nodiscard]] inline std::vector<std::byte> test_bytes(ChunkKey key, std::size_t count) {
  Random random(key.session * 1'000'003 + key.chunk);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

[[nodiscard]] inline bool same(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

[[nodiscard]] inline Deadline in(Duration duration) { return SteadyClock().now() + duration; }

/// The name of a test that is run with each compression.
[[nodiscard]] inline std::string compression_name(
    const testing::TestParamInfo<SpillCompression>& chosen) {
  constexpr std::array kNames{"plain", "lz4", "zstd"};
  return kNames.at(static_cast<std::size_t>(chosen.param));
}

/// Waits for what other threads are about to do; false if they do not.
template <class Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
  for (const auto end = in(std::chrono::seconds(30)); !condition();) {
    if (SteadyClock().now() >= end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Puts a chunk with its test bytes into the store.
inline Result<PinnedChunk> put(ChunkStore& store, ChunkKey key, std::size_t count,
                               const CreateOptions& options = {}) {
  auto writer = store.create(key, count, options);
  if (!writer) return fail(writer.error());
  const auto bytes = test_bytes(key, count);
  std::copy(bytes.begin(), bytes.end(), writer->bytes().begin());
  return writer->seal();
}

}  // namespace muster::engine
