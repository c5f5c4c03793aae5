#include "muster/net/http/web_socket_frame.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "muster/net/errc.h"

namespace muster::net {
namespace {

constexpr unsigned kLast = 0x80;
constexpr unsigned kReserved = 0x70;
constexpr unsigned kMasked = 0x80;
constexpr unsigned kTwoBytes = 126;
constexpr unsigned kEightBytes = 127;

tl::unexpected<Error> wrong(std::string_view why) {
  return fail(Errc::protocol, fmt::format("a frame of the web socket {}", why));
}

bool is_opcode(unsigned value) { return value <= 2 || (value >= 8 && value <= 10); }

std::uint64_t big_endian(ByteSpan bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<unsigned>(byte);
  return value;
}

Result<void> check(const FrameHeader& header, std::size_t length_bytes, WebSocketRole role) {
  if (header.mask.has_value() != (role == WebSocketRole::server))
    return wrong(header.mask ? "from a server is masked" : "from a client is not masked");
  if (is_control(header.opcode) && (!header.last || header.length > kLongestControl))
    return wrong("controls it and is in parts or too long");
  if (header.length >> 63 != 0) return wrong("has a negative length");
  if ((length_bytes == 2 && header.length < kTwoBytes) ||
      (length_bytes == 8 && header.length <= 0xFFFF)) {
    return wrong("tells its length in more bytes than needed");
  }
  return {};
}

}  // namespace

Result<std::optional<FrameHeader>> parse_frame(ByteSpan bytes, WebSocketRole role) {
  if (bytes.size() < 2) return std::nullopt;
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto second = std::to_integer<unsigned>(bytes[1]);
  if ((first & kReserved) != 0 || !is_opcode(first & 0xF)) return wrong("is of an unknown kind");
  FrameHeader header;
  header.last = (first & kLast) != 0;
  header.opcode = static_cast<Opcode>(first & 0xF);
  header.length = second & ~kMasked;
  const std::size_t length_bytes = header.length == kTwoBytes     ? 2
                                   : header.length == kEightBytes ? 8
                                                                  : 0;
  const bool masked = (second & kMasked) != 0;
  header.size = 2 + length_bytes + (masked ? sizeof(Mask) : 0);
  if (bytes.size() < header.size) return std::nullopt;
  if (length_bytes > 0) header.length = big_endian(bytes.subspan(2, length_bytes));
  if (masked) {
    header.mask.emplace();
    std::ranges::copy(bytes.subspan(2 + length_bytes, sizeof(Mask)), header.mask->begin());
  }
  if (auto good = check(header, length_bytes, role); !good) return fail(good.error());
  return header;
}

FrameHeaderBytes encode_frame(const FrameHeader& header) {
  FrameHeaderBytes result;
  const auto put = [&](std::uint64_t value) {
    result.bytes.at(result.size++) = static_cast<std::byte>(value & 0xFF);
  };
  const unsigned masked = header.mask ? kMasked : 0;
  put((header.last ? kLast : 0) | static_cast<unsigned>(header.opcode));
  if (header.length < kTwoBytes) {
    put(masked | header.length);
  } else {
    const int length_bytes = header.length <= 0xFFFF ? 2 : 8;
    put(masked | (length_bytes == 2 ? kTwoBytes : kEightBytes));
    for (int i = length_bytes; i-- > 0;) put(header.length >> (8 * i));
  }
  if (header.mask) {
    for (const std::byte byte : *header.mask) put(std::to_integer<std::uint64_t>(byte));
  }
  return result;
}

void apply_mask(std::span<std::byte> bytes, const Mask& mask, std::uint64_t offset) {
  std::array<std::byte, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(offset + i) % mask.size()];
  std::uint64_t word = 0;
  std::memcpy(&word, turned.data(), sizeof word);
  std::size_t at = 0;
  for (; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    value ^= word;
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  for (; at < bytes.size(); ++at) bytes[at] ^= turned[at % turned.size()];
}

}  // namespace muster::net
