#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::net {

/// Connects, with TCP_NODELAY and close-on-exec. Looking up a host name may take as long as the
/// system's resolver does; everything else ends at the deadline. The socket does not block.
[[nodiscard]] Result<FileDescriptor> connect_tcp(const std::string& host, std::uint16_t port,
                                                 TimePoint deadline);
[[nodiscard]] Result<FileDescriptor> connect_unix(const std::string& path, TimePoint deadline);

/// A socket that listens there and does not block; port 0 takes a free one. The host is a name or
/// an address of this machine.
[[nodiscard]] Result<FileDescriptor> listen_tcp(const std::string& host, std::uint16_t port);
/// The port that it listens on.
[[nodiscard]] std::uint16_t local_port(const FileDescriptor& socket);
/// The other end as "127.0.0.1:40312", "[::1]:40312"; empty when it cannot be told.
[[nodiscard]] std::string peer_text(const FileDescriptor& socket);

/// Sends everything. Never raises SIGPIPE.
Result<void> send_all(const FileDescriptor& socket, std::string_view bytes, TimePoint deadline);

/// Reads what is there, at least one byte.
Result<std::size_t> receive_some(const FileDescriptor& socket, std::span<char> into,
                                 TimePoint deadline);

}  // namespace muster::net
