#include "muster/net/local_address.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "muster/net/errc.h"
#include "muster/runtime/fd.h"

namespace muster::net {

Result<std::string> local_address_towards(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      failed != 0) {
    return fail(Errc::unreachable, fmt::format("look up '{}': {}", host, ::gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  const FileDescriptor socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  // Connecting a datagram socket only chooses the route.
  if (!socket || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    return fail(system_error(errno, fmt::format("find the way to '{}'", host)));
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&local), length, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) != 0) {
    return fail(Errc::unreachable, fmt::format("no numeric address towards '{}'", host));
  }
  return std::string(text.data());
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

}  // namespace muster::net
