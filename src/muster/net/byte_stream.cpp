#include "muster/net/byte_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "muster/net/errc.h"
#include "muster/runtime/poll.h"

namespace muster::net {
namespace {

constexpr std::size_t kPartsAtOnce = 32;
// send(2) and recv(2) reject a length above INT_MAX.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

using Window = std::array<iovec, kPartsAtOnce>;

tl::unexpected<Error> broken(int error, std::string_view doing) {
  return fail(Errc::unreachable, system_error(error, doing).message());
}

// The next bytes to send: from `offset` of the first part on. sendmsg(2) takes const bytes through
// a pointer that is not.
std::size_t fill_window(std::span<const ByteSpan> parts, std::size_t offset, Window& window) {
  std::size_t used = 0;
  std::size_t bytes = 0;
  for (const ByteSpan& part : parts) {
    if (used == window.size() || bytes >= kMostAtOnce) break;
    const ByteSpan rest = part.subspan(offset);
    offset = 0;
    const std::size_t size = std::min(rest.size(), kMostAtOnce - bytes);
    window[used++] = {const_cast<std::byte*>(rest.data()), size};
    bytes += size;
  }
  return used;
}

void skip(std::span<const ByteSpan>& parts, std::size_t& offset, std::size_t bytes) {
  while (!parts.empty() && bytes >= parts.front().size() - offset) {
    bytes -= parts.front().size() - offset;
    parts = parts.subspan(1);
    offset = 0;
  }
  offset += bytes;
}

}  // namespace

Result<void> wait_ready(int fd, short events, TimePoint deadline) {
  std::array slots{pollfd{fd, events, 0}};
  while (!poll_until(slots, deadline)) {
    if (SteadyClock().now() >= deadline)
      return fail(Errc::timeout, "the other end did nothing in time");
  }
  return {};
}

Result<std::size_t> SocketStream::read_some(std::span<std::byte> into, TimePoint deadline) {
  for (;;) {
    const auto got =
        ::recv(socket_.get(), into.data(), std::min(into.size(), kMostAtOnce), MSG_DONTWAIT);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return broken(errno, "receive");
    if (auto ready = wait_ready(socket_.get(), POLLIN, deadline); !ready)
      return fail(ready.error());
  }
}

Result<void> SocketStream::write_all(std::span<const ByteSpan> parts, const Patience& patience) {
  std::size_t offset = 0;
  skip(parts, offset, 0);
  TimePoint until = patience.next();
  Window window;
  while (!parts.empty()) {
    msghdr message{};
    message.msg_iov = window.data();
    message.msg_iovlen = fill_window(parts, offset, window);
    const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      skip(parts, offset, static_cast<std::size_t>(sent));
      until = patience.next();
    } else if (errno == EAGAIN) {
      if (auto ready = wait_ready(socket_.get(), POLLOUT, until); !ready)
        return fail(ready.error());
    } else if (errno != EINTR) {
      return broken(errno, "send");
    }
  }
  return {};
}

void SocketStream::end_writing() { ::shutdown(socket_.get(), SHUT_WR); }

bool SocketStream::quiet() {
  char byte = 0;
  return ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

void SocketStream::end_reading() { ::shutdown(socket_.get(), SHUT_RD); }

void SocketStream::cut() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace muster::net
