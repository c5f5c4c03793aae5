#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::net {

/// A client masks what it sends, a server does not.
enum class WebSocketRole : bool { server, client };

enum class Opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  bytes = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

[[nodiscard]] inline bool is_control(Opcode opcode) { return opcode >= Opcode::close; }

/// Pings, pongs and closes carry no more.
constexpr std::size_t kLongestControl = 125;

using Mask = std::array<std::byte, 4>;

/// What stands before the payload of a frame (RFC 6455, section 5.2).
struct FrameHeader {
  bool last = true;
  Opcode opcode = Opcode::text;
  std::optional<Mask> mask{};
  std::uint64_t length = 0;
  std::size_t size = 0;  ///< of the header itself
};

/// Reads the header at the beginning of `bytes`; nothing while it is not complete. `Errc::protocol`
/// for one that may not come to an end with that role. Any bytes may be given to it.
[[nodiscard]] Result<std::optional<FrameHeader>> parse_frame(ByteSpan bytes, WebSocketRole role);

/// The bytes of a header; `size` is ignored.
struct FrameHeaderBytes {
  std::array<std::byte, 14> bytes{};
  std::size_t size = 0;

  [[nodiscard]] ByteSpan span() const { return ByteSpan(bytes).first(size); }
};
[[nodiscard]] FrameHeaderBytes encode_frame(const FrameHeader& header);

/// Masks, or takes the mask off; `offset` is how many bytes of the payload went before.
void apply_mask(std::span<std::byte> bytes, const Mask& mask, std::uint64_t offset);

}  // namespace muster::net
