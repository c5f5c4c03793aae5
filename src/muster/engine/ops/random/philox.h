#pragma once

#include <array>
#include <cstdint>

namespace muster::engine::random {

inline constexpr std::uint32_t kPhiloxMultiply0 = 0xD2511F53;
inline constexpr std::uint32_t kPhiloxMultiply1 = 0xCD9E8D57;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3): 128
/// random bits that depend on a counter and a key alone, so any number of a stream can be had
/// without those before it. Written here because no library of Debian has it; 20 lines.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                            std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxMultiply0} * counter[0];
    const std::uint64_t b = std::uint64_t{kPhiloxMultiply1} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
  return counter;
}

/// What the counters of one key are for: the last word of the counter.
enum class Domain : std::uint32_t {
  pairs,   ///< one word for each element, two elements to a counter: see batch.h
  stream,  ///< as many words as an element wants: see draws.h
};

}  // namespace muster::engine::random
