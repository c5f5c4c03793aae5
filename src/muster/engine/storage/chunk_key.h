#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace muster::engine {

/// Names a chunk in a store. Sessions do not see each other's chunks, so their number is part of
/// it.
struct ChunkKey {
  std::uint64_t session = 0;
  std::uint64_t chunk = 0;
  auto operator<=>(const ChunkKey&) const = default;
};

/// "3/17": chunk 17 of session 3.
[[nodiscard]] inline std::string to_string(ChunkKey key) {
  return std::to_string(key.session) + "/" + std::to_string(key.chunk);
}

}  // namespace muster::engine

template <>
struct std::hash<muster::engine::ChunkKey> {
  std::size_t operator()(const muster::engine::ChunkKey& key) const noexcept {
    // Both are often consecutive; the multiplications spread them (Fibonacci hashing).
    return static_cast<std::size_t>(key.session * 0xC2B2AE3D27D4EB4Full ^
                                    key.chunk * 0x9E3779B97F4A7C15ull);
  }
};
