#include "muster/comm/discovery/file/watch.h"

#include <cerrno>
#include <cstdint>
#include <sys/inotify.h>
#include <unistd.h>

namespace muster::comm::file {
namespace {

// A file appears by being renamed, and when its process dies the kernel closes it, which had it
// open for writing. Renewing is neither.
constexpr std::uint32_t kGroupEvents =
    IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ONLYDIR;
constexpr std::uint32_t kRootEvents = IN_CREATE | IN_ONLYDIR;

}  // namespace

Watch::Watch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

bool Watch::add(const std::filesystem::path& root, const std::filesystem::path& folder) const {
  if (!fd_) return false;
  if (::inotify_add_watch(fd_.get(), folder.c_str(), kGroupEvents) >= 0) return true;
  if (errno != ENOENT || ::inotify_add_watch(fd_.get(), root.c_str(), kRootEvents) < 0)
    return false;
  // It may have appeared before the root was watched.
  return ::inotify_add_watch(fd_.get(), folder.c_str(), kGroupEvents) >= 0 || errno == ENOENT;
}

void Watch::drain() const {
  alignas(inotify_event) char events[4096];
  while (fd_ && ::read(fd_.get(), events, sizeof events) > 0) {
  }
}

}  // namespace muster::comm::file
