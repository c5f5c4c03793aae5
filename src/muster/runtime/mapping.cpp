#include "muster/runtime/mapping.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <string>
#include <sys/mman.h>
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

Result<Mapping> Mapping::map(int fd, std::size_t bytes, Populate populate) {
  const int flags = MAP_SHARED | (populate == Populate::yes ? MAP_POPULATE : 0);
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (data == MAP_FAILED)
    return fail(system_error(errno, fmt::format("map {} bytes of shared memory", bytes)));
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = bytes;
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

Result<FileDescriptor> create_memory_file(std::string_view label, std::size_t bytes) {
  FileDescriptor fd(::memfd_create(std::string(label).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return fail(system_error(errno, "memfd_create"));
  // The kernel would take pages from everybody else, down to the last, before it refused.
  if (bytes > kSmall && bytes > available_memory()) {
    return fail(system_error(ENOMEM, fmt::format("reserve {} bytes of shared memory", bytes)));
  }
  const int reserved = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (reserved != 0)
    return fail(system_error(reserved, fmt::format("reserve {} bytes of shared memory", bytes)));
  // A peer that maps the file trusts its size.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail(system_error(errno, "seal shared memory"));
  return fd;
}

}  // namespace muster
