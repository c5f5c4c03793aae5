#include "muster/runtime/mapping.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

namespace muster {
namespace {

// Below this a reservation is not worth a look at the machine's memory.
constexpr std::size_t kSmall = std::size_t{1} << 20;

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

Result<Mapping> Mapping::map(int fd, std::size_t bytes, Populate populate, Access access) {
  const int protection = PROT_READ | (access == Access::read_write ? PROT_WRITE : 0);
  const int flags = MAP_SHARED | (populate == Populate::yes ? MAP_POPULATE : 0);
  void* const data = ::mmap(nullptr, bytes, protection, flags, fd, 0);
  if (data == MAP_FAILED)
    return fail(system_error(errno, fmt::format("map {} bytes of shared memory", bytes)));
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = bytes;
  return mapping;
}

Result<Mapping> Mapping::map_ring(int fd, std::size_t first, std::size_t ring) {
  const std::size_t bytes = first + 2 * ring;
  // The place is taken first, so that the pieces cannot fall on what others map meanwhile.
  void* const place =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    return fail(system_error(errno, fmt::format("find room for {} bytes", bytes)));
  }
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(place);
  mapping.size_ = bytes;
  const auto put = [fd](std::byte* at, std::size_t size, std::size_t offset) {
    return ::mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                  static_cast<off_t>(offset)) != MAP_FAILED;
  };
  if (!put(mapping.data_, first + ring, 0) || !put(mapping.data_ + first + ring, ring, first)) {
    return fail(system_error(errno, fmt::format("map a ring of {} bytes", ring)));
  }
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool has_memory(std::size_t bytes) { return bytes <= kSmall || bytes <= available_memory(); }

Result<void> reserve_memory(int fd, std::size_t offset, std::size_t bytes) {
  if (!has_memory(bytes))
    return fail(system_error(ENOMEM, fmt::format("reserve {} bytes of shared memory", bytes)));
  int reserved = EINTR;
  while (reserved == EINTR) {
    reserved = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  if (reserved == 0) return {};
  return fail(system_error(reserved, fmt::format("reserve {} bytes of shared memory", bytes)));
}

Result<FileDescriptor> create_memory_file(std::string_view label, std::size_t bytes) {
  FileDescriptor fd(::memfd_create(std::string(label).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(system_error(errno, "memfd_create"));
  if (auto ok = reserve_memory(fd.get(), 0, bytes); !ok) return fail(ok.error());
  // A peer that maps the file trusts its size.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(system_error(errno, "seal shared memory"));
  return fd;
}

Result<std::size_t> memory_file_bytes(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(system_error(EINVAL, "take memory that is not sealed"));
  }
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail(system_error(errno, "look at shared memory"));
  // Pages that do not exist yet would be made, and paid for, by whoever reads them.
  if (status.st_size <= 0 || status.st_blocks * 512 < status.st_size) {
    return fail(system_error(EINVAL, "take memory that is not reserved"));
  }
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace muster
