#pragma once

#include <cstdint>
#include <limits>

namespace muster {

/// A small seeded generator (SplitMix64) for what must replay exactly from a seed: simulation,
/// jitter, sampling. Not for keys. Satisfies UniformRandomBitGenerator. Not thread-safe.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  result_type operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  /// A number in [0, bound); 0 when bound is 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : (*this)() % bound; }

  /// True with the given probability.
  bool chance(double probability) {
    return static_cast<double>((*this)() >> 11) * 0x1.0p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

/// 64 unpredictable bits from the kernel, for ids that double as capabilities. Thread-safe.
[[nodiscard]] std::uint64_t secure_random_u64();

}  // namespace muster
