#include "muster/runtime/epoll.h"

#include <array>
#include <cerrno>
#include <sys/epoll.h>

namespace muster {

Result<Epoll> Epoll::create() {
  FileDescriptor fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return fail(system_error(errno, "make an epoll descriptor"));
  return Epoll(std::move(fd));
}

Result<void> Epoll::add(int fd, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = key;
  if (::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return fail(system_error(errno, "watch a descriptor"));
  }
  return {};
}

void Epoll::remove(int fd) { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::vector<std::uint64_t> Epoll::ready() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), 0);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < count; ++i) keys.push_back(events[static_cast<std::size_t>(i)].data.u64);
  return keys;
}

}  // namespace muster
