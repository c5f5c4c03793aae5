#include "muster/engine/storage/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace muster::engine {
namespace {

// write(2) and read(2) move no more than 2 GiB less a page at a time.
constexpr std::size_t kMost = std::size_t{1} << 30;

}  // namespace

int write_all(int fd, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), kMost));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

int read_all(int fd, std::span<std::byte> bytes, std::size_t& got) {
  got = 0;
  while (got < bytes.size()) {
    const auto rest = bytes.subspan(got);
    const ssize_t count = ::read(fd, rest.data(), std::min(rest.size(), kMost));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  return 0;
}

}  // namespace muster::engine
