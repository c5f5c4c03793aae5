#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster {

/// Packets with descriptors between processes of one host, over sockets in the abstract namespace,
/// which are gone with their process. Everything here is non-blocking.

[[nodiscard]] Result<FileDescriptor> listen_unix(std::string_view abstract_name);

/// Connected at once, without waiting for an accept. `std::errc::resource_unavailable_try_again`:
/// too many wait to be accepted there; try again.
[[nodiscard]] Result<FileDescriptor> connect_unix(std::string_view abstract_name);

/// The next connection, or nothing when none waits. A failure means that this process or host has
/// no descriptor or memory left for it; it goes on waiting.
[[nodiscard]] Result<std::optional<FileDescriptor>> accept_unix(const FileDescriptor& listener);

struct PeerProcess {
  pid_t pid = 0;  ///< 0 when it has none that means something here
  uid_t uid = 0;
};
/// Who connected, or listened, as the kernel knows it.
[[nodiscard]] Result<PeerProcess> peer_process(const FileDescriptor& socket);

enum class PacketStatus : std::uint8_t {
  done,
  would_block,
  ended,
  starved,  ///< no descriptor is free for what the packet brings; it stays where it is
};

/// One packet, with up to `kMaxPacketFiles` descriptors. `ended` when the other side is gone.
inline constexpr std::size_t kMaxPacketFiles = 4;
[[nodiscard]] PacketStatus send_packet(const FileDescriptor& socket, ByteSpan bytes,
                                       std::span<const int> files = {});

struct Packet {
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> files;
  bool truncated = false;  ///< longer, or with more files, than anybody here sends
};
/// The next packet of up to `most` bytes.
[[nodiscard]] PacketStatus receive_packet(const FileDescriptor& socket, std::size_t most,
                                          Packet& packet);

/// Becomes readable when the process dies, even if others inherited its sockets. Nothing for an id
/// of a process that is not there.
[[nodiscard]] std::optional<FileDescriptor> watch_process(pid_t pid);

}  // namespace muster
