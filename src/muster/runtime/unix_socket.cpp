#include "muster/runtime/unix_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace muster {
namespace {

struct Address {
  sockaddr_un address{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Result<Address> address_of(std::string_view name) {
  Address result;
  if (name.empty() || name.size() + 1 > sizeof result.address.sun_path) {
    return fail(system_error(EINVAL, fmt::format("use '{}' as the name of a unix socket", name)));
  }
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path + 1, name.data(), name.size());
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result;
}

Result<FileDescriptor> packet_socket() {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(system_error(errno, "make a unix socket"));
  return socket;
}

// Room for the descriptors of one packet, aligned as the kernel wants it.
struct alignas(cmsghdr) Control {
  std::array<std::byte, CMSG_SPACE(kMaxPacketFiles * sizeof(int))> bytes{};
};

void take_files(msghdr& header, Packet& packet) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      packet.files.emplace_back(fd);
    }
  }
}

}  // namespace

Result<FileDescriptor> listen_unix(std::string_view abstract_name) {
  const auto address = address_of(abstract_name);
  if (!address) return fail(address.error());
  auto socket = packet_socket();
  if (!socket) return socket;
  if (::bind(socket->get(), address->get(), address->length) != 0 ||
      ::listen(socket->get(), SOMAXCONN) != 0) {
    return fail(system_error(errno, fmt::format("listen on the unix socket '{}'", abstract_name)));
  }
  return socket;
}

Result<FileDescriptor> connect_unix(std::string_view abstract_name) {
  const auto address = address_of(abstract_name);
  if (!address) return fail(address.error());
  auto socket = packet_socket();
  if (!socket) return socket;
  if (::connect(socket->get(), address->get(), address->length) != 0) {
    return fail(system_error(errno, fmt::format("connect to the unix socket '{}'", abstract_name)));
  }
  return socket;
}

Result<std::optional<FileDescriptor>> accept_unix(const FileDescriptor& listener) {
  for (;;) {
    FileDescriptor socket(
        ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) return std::optional(std::move(socket));
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return fail(system_error(errno, "accept a connection"));
    }
    if (errno != EINTR && errno != ECONNABORTED) return std::nullopt;
  }
}

Result<PeerProcess> peer_process(const FileDescriptor& socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return fail(system_error(errno, "ask who is at a unix socket"));
  }
  return PeerProcess{.pid = credentials.pid, .uid = credentials.uid};
}

PacketStatus send_packet(const FileDescriptor& socket, ByteSpan bytes, std::span<const int> files) {
  iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Control control;
  if (!files.empty()) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  }
  while (::sendmsg(socket.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    // Too many descriptors under way is a queue that is full, too.
    const bool later = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS;
    return later ? PacketStatus::would_block : PacketStatus::ended;
  }
  return PacketStatus::done;
}

// The kernel drops descriptors for which there is no room, for ever. So a packet is looked at
// first, and taken away only when all that it brings is here.
PacketStatus receive_packet(const FileDescriptor& socket, std::size_t most, Packet& packet) {
  packet = {};
  packet.bytes.resize(most);
  iovec part{.iov_base = packet.bytes.data(), .iov_len = most};
  Control control;
  for (bool reset = false;;) {
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    const ssize_t count =
        ::recvmsg(socket.get(), &header, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count > 0) {
      take_files(header, packet);
      const bool files_missing = (header.msg_flags & MSG_CTRUNC) != 0;
      if (files_missing && packet.files.size() < kMaxPacketFiles) {
        packet = {};
        return PacketStatus::starved;
      }
      packet.truncated = files_missing || (header.msg_flags & MSG_TRUNC) != 0;
      packet.bytes.resize(static_cast<std::size_t>(count));
      while (::recv(socket.get(), nullptr, 0, MSG_DONTWAIT | MSG_TRUNC) < 0 && errno == EINTR) {
      }
      return PacketStatus::done;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return PacketStatus::would_block;
    // A peer that closed with our packets unread shows as a reset first; its own packets come
    // after.
    if (count < 0 && errno == ECONNRESET && !std::exchange(reset, true)) continue;
    return PacketStatus::ended;
  }
}

std::optional<FileDescriptor> watch_process(pid_t pid) {
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return std::nullopt;
  return process;
}

}  // namespace muster
