#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "muster/base/buffer.h"
#include "muster/engine/storage/chunk_key.h"
#include "muster/engine/storage/spill_file.h"

namespace muster::engine {

/// The first bytes of a spill file.
struct SpillHeader {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::uint16_t kVersion = 1;

  SpillCompression compression = SpillCompression::none;
  ChunkKey key;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t body_bytes = 0;  ///< what follows the header
  std::uint64_t checksum = 0;    ///< XXH3 of the chunk

  bool operator==(const SpillHeader&) const = default;
};

[[nodiscard]] std::array<std::byte, SpillHeader::kBytes> encode(const SpillHeader& header);

/// Nothing when the bytes are not a header of this version, or damaged.
[[nodiscard]] std::optional<SpillHeader> decode_spill_header(
    std::span<const std::byte, SpillHeader::kBytes> bytes);

[[nodiscard]] std::uint64_t spill_checksum(ByteSpan bytes);

}  // namespace muster::engine
