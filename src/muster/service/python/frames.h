#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/runtime/fd.h"
#include "muster/runtime/unix_socket.h"

namespace muster::service {

/// Bodies up to this many bytes are in the packet itself, longer ones in a memory file.
inline constexpr std::size_t kMostInline = 48 << 10;
inline constexpr std::size_t kMostPacket = 64 << 10;
/// Where arrays begin in a body.
inline constexpr std::size_t kFrameAlignment = 64;

/// What a worker and a Python process say to each other: a head, and bytes that belong to it.
struct Frame {
  nlohmann::json head;
  ByteSpan extra;
  std::shared_ptr<const void> owner;  ///< of the bytes
};

/// A frame ready to be sent.
struct PackedFrame {
  std::vector<std::byte> packet;
  FileDescriptor file;  ///< the body, if it is not in the packet
};

/// `extra` is put together from parts, each beginning at a multiple of the alignment.
[[nodiscard]] Result<PackedFrame> pack_frame(const nlohmann::json& head,
                                             std::span<const ByteSpan> extra);
/// Where each part begins.
[[nodiscard]] std::vector<std::size_t> part_starts(std::span<const ByteSpan> extra);

/// Nothing of the packet is trusted: the function that wrote it may be anybody's.
[[nodiscard]] Result<Frame> read_frame(Packet packet);

}  // namespace muster::service
