#include "muster/engine/storage/spill_directory.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/base/random.h"
#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "muster-spill-";
constexpr std::string_view kLockSuffix = ".lock";
constexpr int kAttempts = 16;
constexpr int kRemovals = 1'000;

/// Whether the file is the one that the path names; a sweep may have removed it meanwhile.
bool is_at(const FileDescriptor& fd, const std::string& path) {
  struct stat held{};
  struct stat named{};
  return ::fstat(fd.get(), &held) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void sweep_one(const fs::path& lock_path) {
  const FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (!is_at(lock, lock_path.string())) return;
  fs::path folder = lock_path;
  folder.replace_extension();
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  // The lock goes last: a sweep that is killed half-way is done again.
  fs::remove(lock_path, ignored);
  log(LogLevel::info, "storage", "removed '{}', left by a worker that was killed", folder.string());
}

void sweep(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kLockSuffix)) sweep_one(entry.path());
  }
}

Error unusable(const std::string& directory, int error) {
  return {make_error_code(StorageErrc::invalid),
          fmt::format("spill directory '{}' cannot be used: {}; give spillDirs folders that this "
                      "user may write",
                      directory, std::system_category().message(error))};
}

}  // namespace

SpillDirectory::SpillDirectory(std::string directory, std::string folder, FileDescriptor lock)
    : directory_(std::move(directory)), folder_(std::move(folder)), lock_(std::move(lock)) {}

Result<SpillDirectory> SpillDirectory::open(const std::string& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) return fail(unusable(directory, failed.value()));
  sweep(directory);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string folder =
        (fs::path(directory) / fmt::format("{}{:016x}", kPrefix, secure_random_u64())).string();
    const std::string lock_path = folder + std::string(kLockSuffix);
    FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!lock) return fail(unusable(directory, errno));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) continue;  // a sweep found it first
      log(LogLevel::warning, "storage",
          "'{}' has no file locks: what a killed worker leaves there "
          "must be removed by hand",
          directory);
      ::unlink(lock_path.c_str());
    } else if (!is_at(lock, lock_path)) {
      continue;
    }
    if (::mkdir(folder.c_str(), 0700) != 0) return fail(unusable(directory, errno));
    return SpillDirectory(directory, folder, std::move(lock));
  }
  return fail(unusable(directory, EBUSY));
}

void SpillDirectory::remove() {
  if (!lock_) return;
  std::error_code ignored;
  // Others may yet remove files of chunks that were dropped: one that is gone when its turn comes
  // ends remove_all before its time.
  for (int attempt = 0; attempt < kRemovals && fs::exists(folder_, ignored); ++attempt)
    fs::remove_all(folder_, ignored);
  fs::remove(folder_ + std::string(kLockSuffix), ignored);
  lock_.reset();
}

SpillDirectory::~SpillDirectory() { remove(); }

}  // namespace muster::engine
