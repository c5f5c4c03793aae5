#include "muster/engine/storage/arena.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/engine/storage/errc.h"

namespace muster::engine {
namespace {

constexpr std::size_t kSegment = std::size_t{1} << 20;
constexpr std::string_view kPrefix = "muster-arena-";

std::string described(const std::string& place) {
  return place.empty() ? "anonymous memory" : fmt::format("'{}'", place);
}

Error no_memory(const std::string& place, std::size_t bytes, std::string_view why) {
  const std::string_view remedy =
      place.empty() ? "lower workerCacheSize or workerCachePercentage, or give the machine or "
                      "container more memory"
                    : "lower workerCacheSize, free space there, or mount it larger (docker run "
                      "--shm-size, an emptyDir of medium Memory)";
  return {make_error_code(StorageErrc::no_memory),
          fmt::format("no room for {} bytes of the arena in {}: {}; {}", bytes, described(place),
                      why, remedy)};
}

Error unusable(const std::string& place, int error) {
  return {make_error_code(StorageErrc::invalid),
          fmt::format("no arena can be made in {}: {}; give plasmaStore a folder that this user "
                      "may write, such as /dev/shm",
                      described(place), std::system_category().message(error))};
}

/// For file systems that have no files without a name. The name lives for a moment: what a process
/// leaves that is killed in it, the next one removes; that of a living one may go at any time.
Result<FileDescriptor> nameless_by_hand(const std::string& place) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(place, ignored))
    if (entry.path().filename().string().starts_with(kPrefix)) fs::remove(entry.path(), ignored);
  const auto path =
      (fs::path(place) / fmt::format("{}{:016x}", kPrefix, secure_random_u64())).string();
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail(unusable(place, errno));
  ::unlink(path.c_str());
  return file;
}

Result<FileDescriptor> file_in(const std::string& place, std::size_t bytes) {
  struct statvfs room{};
  if (::statvfs(place.c_str(), &room) != 0) return fail(unusable(place, errno));
  const std::uint64_t free = std::uint64_t{room.f_bavail} * room.f_frsize;
  // tmpfs without a limit says that it has no blocks at all.
  if (room.f_blocks > 0 && free < bytes)
    return fail(no_memory(place, bytes, fmt::format("it has {} bytes free", free)));
  FileDescriptor file(::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  if (errno == EOPNOTSUPP || errno == EISDIR) return nameless_by_hand(place);
  return fail(unusable(place, errno));
}

Result<FileDescriptor> anonymous_file(std::size_t bytes) {
  struct sysinfo machine{};
  if (::sysinfo(&machine) == 0) {
    const std::uint64_t memory = std::uint64_t{machine.totalram} * machine.mem_unit;
    if (memory < bytes)
      return fail(no_memory({}, bytes, fmt::format("the machine has {} bytes", memory)));
  }
  FileDescriptor file(::memfd_create("muster-store", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail(unusable({}, errno));
  return file;
}

/// From now on nobody can shrink the memory under a mapping, and only our mapping can be written.
Result<void> seal(const FileDescriptor& file) {
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSize | F_SEAL_FUTURE_WRITE) == 0) return {};
  // Kernels before 5.1 do not have the last; readers get a descriptor that cannot write anyway.
  if (::fcntl(file.get(), F_ADD_SEALS, kSize) == 0) return {};
  return fail(unusable({}, errno));
}

}  // namespace

Arena::Arena(std::string place, FileDescriptor file, Mapping mapping)
    : place_(std::move(place)),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      reserved_((mapping_.size() + kSegment - 1) / kSegment) {}

Result<Arena> Arena::open(const std::string& place, std::size_t bytes) {
  if (bytes == 0) return fail(StorageErrc::invalid, "an arena of 0 bytes holds nothing");
  auto file = place.empty() ? anonymous_file(bytes) : file_in(place, bytes);
  if (!file) return fail(file.error());
  if (::ftruncate(file->get(), static_cast<off_t>(bytes)) != 0)
    return fail(no_memory(place, bytes, std::system_category().message(errno)));
  auto mapping = Mapping::map(file->get(), bytes);
  if (!mapping) return fail(no_memory(place, bytes, mapping.error().message()));
  if (place.empty()) {
    if (auto ok = seal(*file); !ok) return fail(ok.error());
  }
  return Arena(place, std::move(*file), std::move(*mapping));
}

Result<void> Arena::reserve(BlockPlace block) {
  if (block.length == 0) return {};
  const std::size_t last = (block.offset + block.length - 1) / kSegment;
  for (std::size_t first = block.offset / kSegment; first <= last;) {
    std::size_t end = first;
    // Two threads may reserve the same segment: the second time it does nothing.
    while (end <= last && !reserved_[end].load(std::memory_order_acquire)) ++end;
    if (end > first) {
      const std::size_t begin = first * kSegment;
      const std::size_t bytes = std::min(end * kSegment, size()) - begin;
      if (auto ok = reserve_memory(file_.get(), begin, bytes); !ok)
        return fail(no_memory(place_, bytes, ok.error().message()));
      for (std::size_t i = first; i < end; ++i) reserved_[i].store(true, std::memory_order_release);
    }
    first = end + 1;
  }
  return {};
}

Result<FileDescriptor> Arena::reader_file() const {
  const std::string path = fmt::format("/proc/self/fd/{}", file_.get());
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(system_error(errno, "open the arena for readers"));
  return file;
}

Result<ArenaReader> ArenaReader::map(const FileDescriptor& file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(system_error(errno, "look at an arena"));
  if (!S_ISREG(status.st_mode) || status.st_size <= 0)
    return fail(StorageErrc::invalid, "the descriptor is not that of an arena");
  auto mapping = Mapping::map(file.get(), static_cast<std::size_t>(status.st_size), Populate::no,
                              Access::read_only);
  if (!mapping) return fail(mapping.error());
  return ArenaReader(std::move(*mapping));
}

Result<ByteSpan> ArenaReader::at(BlockPlace block) const {
  if (block.offset > mapping_.size() || block.length > mapping_.size() - block.offset)
    return fail(StorageErrc::invalid,
                fmt::format("a block of {} bytes at {} is not inside an arena of {} bytes",
                            block.length, block.offset, mapping_.size()));
  return ByteSpan(mapping_.bytes()).subspan(block.offset, block.length);
}

}  // namespace muster::engine
