#include "muster/engine/storage/spill_header.h"

#include <bit>
#include <cstring>
#include <xxhash.h>

namespace muster::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::array<char, 4> kMagic{'M', 'S', 'P', 'L'};

/// As the bytes lie in the file; README.md describes them.
struct Layout {
  std::array<char, 4> magic = kMagic;
  std::uint16_t version = SpillHeader::kVersion;
  std::uint8_t compression = 0;
  std::uint8_t reserved = 0;
  std::uint64_t session = 0;
  std::uint64_t chunk = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t unused = 0;
  std::uint64_t header_checksum = 0;
};
static_assert(sizeof(Layout) == SpillHeader::kBytes);
constexpr std::size_t kChecked = SpillHeader::kBytes - sizeof(std::uint64_t);

}  // namespace

std::uint64_t spill_checksum(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::array<std::byte, SpillHeader::kBytes> encode(const SpillHeader& header) {
  const Layout layout{.compression = static_cast<std::uint8_t>(header.compression),
                      .session = header.key.session,
                      .chunk = header.key.chunk,
                      .chunk_bytes = header.chunk_bytes,
                      .body_bytes = header.body_bytes,
                      .checksum = header.checksum};
  std::array<std::byte, SpillHeader::kBytes> bytes;
  std::memcpy(bytes.data(), &layout, sizeof layout);
  const std::uint64_t checksum = spill_checksum(std::span(bytes).first(kChecked));
  std::memcpy(bytes.data() + kChecked, &checksum, sizeof checksum);
  return bytes;
}

std::optional<SpillHeader> decode_spill_header(
    std::span<const std::byte, SpillHeader::kBytes> bytes) {
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kMagic || layout.version != SpillHeader::kVersion ||
      layout.compression > static_cast<std::uint8_t>(SpillCompression::zstd) ||
      layout.header_checksum != spill_checksum(bytes.first(kChecked))) {
    return std::nullopt;
  }
  return SpillHeader{.compression = static_cast<SpillCompression>(layout.compression),
                     .key = {layout.session, layout.chunk},
                     .chunk_bytes = layout.chunk_bytes,
                     .body_bytes = layout.body_bytes,
                     .checksum = layout.checksum};
}

}  // namespace muster::engine
