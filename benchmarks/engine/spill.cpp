// bench_spill FOLDER BYTES: what spilling costs beside plain files in the same folder. One line
// {"case": C, "bytes": B, "ours": MB/s, "disk": MB/s} for writing and one for reading. Both end
// when everything is on the disk, and read when the machine has forgotten what it wrote.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "muster/engine/storage/chunk_store.h"
#include "muster/engine/storage/file_bytes.h"
#include "muster/runtime/fd.h"

namespace {

namespace fs = std::filesystem;
using namespace muster;
using namespace muster::engine;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunk = std::size_t{16} << 20;
constexpr std::size_t kInMemory = 4;  // this part of the chunks may stay

struct Figures {
  double written = 0;  ///< MB/s
  double read = 0;
};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "bench_spill: {}\n", why);
  std::exit(1);
}

double rate(std::size_t bytes, Clock::time_point start) {
  return static_cast<double>(bytes) * 1e-6 /
         std::chrono::duration<double>(Clock::now() - start).count();
}

FileDescriptor opened(const fs::path& path, int flags) {
  FileDescriptor fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd) give_up("cannot open " + path.string());
  return fd;
}

void onto_disk(const fs::path& folder) { (void)::syncfs(opened(folder, O_RDONLY).get()); }

void forget(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      (void)::posix_fadvise(opened(entry.path(), O_RDONLY).get(), 0, 0, POSIX_FADV_DONTNEED);
}

std::vector<std::byte> noise() {
  std::vector<std::byte> bytes(kChunk);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  return bytes;
}

Figures of_disk(const fs::path& folder, std::size_t chunks, std::vector<std::byte> bytes) {
  Figures figures;
  const fs::path path = folder / "plain";
  auto start = Clock::now();
  {
    const FileDescriptor fd = opened(path, O_WRONLY | O_CREAT | O_EXCL);
    for (std::size_t i = 0; i < chunks; ++i)
      if (write_all(fd.get(), bytes) != 0) give_up("cannot write " + path.string());
  }
  onto_disk(folder);
  figures.written = rate(chunks * kChunk, start);
  forget(folder);
  start = Clock::now();
  const FileDescriptor fd = opened(path, O_RDONLY);
  std::size_t got = 0;
  for (std::size_t i = 0; i < chunks; ++i)
    if (read_all(fd.get(), bytes, got) != 0 || got != kChunk)
      give_up("cannot read " + path.string());
  figures.read = rate(chunks * kChunk, start);
  fs::remove(path);
  return figures;
}

Figures of_store(const fs::path& folder, std::size_t chunks, const std::vector<std::byte>& bytes) {
  StoreOptions options;
  options.budget = std::max<std::size_t>(chunks / kInMemory, 2) * (kChunk + 4096);
  options.spill.directories = {folder.string()};
  auto store = ChunkStore::open(options);
  if (!store) give_up(store.error().message());
  Figures figures;
  auto start = Clock::now();
  for (std::size_t i = 0; i < chunks; ++i) {
    auto writer = (*store)->create({1, i}, kChunk);
    if (!writer) give_up(writer.error().message());
    std::memcpy(writer->bytes().data(), bytes.data(), kChunk);
    (void)writer->seal();
  }
  onto_disk(folder);
  figures.written = rate((*store)->stats().spilled_bytes, start);
  forget(folder);
  start = Clock::now();
  for (std::size_t i = 0; i < chunks; ++i)
    if (const auto pinned = (*store)->get({1, i}); !pinned) give_up(pinned.error().message());
  figures.read = rate((*store)->stats().loaded_bytes, start);
  return figures;
}

void print(const char* name, std::size_t bytes, double ours, double disk) {
  fmt::print("{{\"case\": \"{}\", \"bytes\": {}, \"ours\": {}, \"disk\": {}}}\n", name, bytes, ours,
             disk);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) give_up("usage: bench_spill FOLDER BYTES");
  const fs::path folder = argv[1];
  const std::size_t bytes = std::strtoull(argv[2], nullptr, 10) / kChunk * kChunk;
  const std::vector<std::byte> content = noise();
  const Figures disk = of_disk(folder, bytes / kChunk, content);
  const Figures ours = of_store(folder, bytes / kChunk, content);
  print("spill", bytes, ours.written, disk.written);
  print("read back", bytes, ours.read, disk.read);
}
