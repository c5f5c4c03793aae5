#include "tests/integration/collective/group_memory.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>

namespace muster::comm {
namespace {

void add_mapped(const std::string& name, std::set<std::uint64_t>& inodes) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos) continue;
    std::string addresses, access, offset, device;
    std::uint64_t inode = 0;
    std::istringstream(line) >> addresses >> access >> offset >> device >> inode;
    inodes.insert(inode);
  }
}

void add_open(const std::string& name, std::set<std::uint64_t>& inodes) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // another thread may close it meanwhile
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    struct stat status{};
    if (gone || target.string().find(name) == std::string::npos) continue;
    if (::stat(entry.path().c_str(), &status) == 0) inodes.insert(status.st_ino);
  }
}

}  // namespace

std::set<std::uint64_t> memory_files(std::string_view label) {
  const std::string name = "memfd:" + std::string(label);
  std::set<std::uint64_t> inodes;
  add_mapped(name, inodes);
  add_open(name, inodes);
  return inodes;
}

std::set<std::uint64_t> group_memory() { return memory_files("muster-group"); }

bool group_memory_becomes(const std::set<std::uint64_t>& expected) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (group_memory() != expected) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace muster::comm
