#include "muster/net/stream_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/runtime/poll.h"

namespace muster::net {
namespace {

tl::unexpected<Error> cannot(int error, std::string_view doing) {
  return fail(Errc::unreachable, system_error(error, doing).message());
}

Result<void> wait_for(const FileDescriptor& socket, short events, TimePoint deadline,
                      std::string_view doing) {
  std::array slots{pollfd{socket.get(), events, 0}};
  while (!poll_until(slots, deadline)) {
    if (SteadyClock().now() >= deadline)
      return fail(Errc::timeout, fmt::format("{}: no answer in time", doing));
  }
  return {};
}

Result<FileDescriptor> connect_to(int family, const sockaddr* address, socklen_t length,
                                  TimePoint deadline, const std::string& doing) {
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return cannot(errno, doing);
  if (::connect(socket.get(), address, length) == 0) return socket;
  // A unix socket whose queue is full answers EAGAIN and cannot be waited for.
  if (errno != EINPROGRESS) return cannot(errno, doing);
  if (const auto ready = wait_for(socket, POLLOUT, deadline, doing); !ready)
    return fail(ready.error());
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return cannot(error, doing);
  return socket;
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Result<Addresses> look_up(const std::string& host, std::uint16_t port, int flags,
                          std::string_view doing) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    return fail(Errc::unreachable, fmt::format("{}: {}", doing, ::gai_strerror(error)));
  return Addresses(found, ::freeaddrinfo);
}

Result<FileDescriptor> listen_at(const addrinfo& address, std::string_view doing) {
  FileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return cannot(errno, doing);
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return cannot(errno, doing);
  }
  return socket;
}

}  // namespace

Result<FileDescriptor> listen_tcp(const std::string& host, std::uint16_t port) {
  const std::string doing = fmt::format("listen on {}:{}", host, port);
  const auto addresses = look_up(host, port, AI_PASSIVE, doing);
  if (!addresses) return fail(addresses.error());
  Result<FileDescriptor> socket =
      fail(Errc::unreachable, fmt::format("{}: the name has no address", doing));
  for (const addrinfo* a = addresses->get(); a != nullptr && !socket; a = a->ai_next)
    socket = listen_at(*a, doing);
  return socket;
}

std::uint16_t local_port(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string peer_text(const FileDescriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  const char* form = address.ss_family == AF_INET6 ? "[{}]:{}" : "{}:{}";
  return fmt::format(fmt::runtime(form), host.data(), port.data());
}

Result<FileDescriptor> connect_tcp(const std::string& host, std::uint16_t port,
                                   TimePoint deadline) {
  const std::string doing = fmt::format("connect to {}:{}", host, port);
  const auto addresses = look_up(host, port, 0, doing);
  if (!addresses) return fail(addresses.error());
  Result<FileDescriptor> socket =
      fail(Errc::unreachable, fmt::format("{}: the name has no address", doing));
  for (const addrinfo* a = addresses->get(); a != nullptr && !socket; a = a->ai_next) {
    socket = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, deadline, doing);
  }
  const int on = 1;
  if (socket) ::setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

Result<FileDescriptor> connect_unix(const std::string& path, TimePoint deadline) {
  const std::string doing = fmt::format("connect to '{}'", path);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return cannot(ENAMETOOLONG, doing);
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect_to(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline,
                    doing);
}

Result<void> send_all(const FileDescriptor& socket, std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (const auto ready = wait_for(socket, POLLOUT, deadline, "send"); !ready)
        return fail(ready.error());
    } else if (errno != EINTR) {
      return cannot(errno, "send");
    }
  }
  return {};
}

Result<std::size_t> receive_some(const FileDescriptor& socket, std::span<char> into,
                                 TimePoint deadline) {
  for (;;) {
    const auto got = ::recv(socket.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return fail(Errc::unreachable, "the server closed the connection");
    if (errno == EAGAIN) {
      if (const auto ready = wait_for(socket, POLLIN, deadline, "receive"); !ready)
        return fail(ready.error());
    } else if (errno != EINTR) {
      return cannot(errno, "receive");
    }
  }
}

}  // namespace muster::net
