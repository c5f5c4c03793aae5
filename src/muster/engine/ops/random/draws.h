#pragma once

#include <cstdint>

#include "muster/engine/ops/random/philox.h"

namespace muster::engine::random {

/// The random numbers of one element: as many as its distribution wants, the same for every
/// chunking. Cheap to make.
class Draws {
 public:
  Draws(std::uint64_t key, std::uint64_t element) : key_(key), element_(element) {}

  [[nodiscard]] std::uint64_t word();
  /// In [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }
  /// In (0, 1].
  [[nodiscard]] double positive() { return 1.0 - uniform(); }
  /// Below `bound`, which is positive; every number equally likely.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// Standard normal.
  [[nodiscard]] double normal();
  /// Exponential with mean 1.
  [[nodiscard]] double exponential();

 private:
  std::uint64_t key_;
  std::uint64_t element_;
  std::uint32_t block_ = 0;
  std::uint64_t spare_word_ = 0;
  bool has_spare_word_ = false;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace muster::engine::random
