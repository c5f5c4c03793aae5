#include "muster/engine/ops/random/draws.h"

#include <cmath>
#include <numbers>

namespace muster::engine::random {

std::uint64_t Draws::word() {
  if (has_spare_word_) {
    has_spare_word_ = false;
    return spare_word_;
  }
  const auto bits =
      philox({static_cast<std::uint32_t>(element_), static_cast<std::uint32_t>(element_ >> 32),
              block_++, static_cast<std::uint32_t>(Domain::stream)},
             key_);
  spare_word_ = bits[2] | std::uint64_t{bits[3]} << 32;
  has_spare_word_ = true;
  return bits[0] | std::uint64_t{bits[1]} << 32;
}

std::uint64_t Draws::below(std::uint64_t bound) {
  // Words at the end that would make some numbers more likely are drawn again.
  const std::uint64_t surplus = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t drawn = word();
    if (drawn >= surplus) return drawn % bound;
  }
}

double Draws::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(positive()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

double Draws::exponential() { return -std::log(positive()); }

}  // namespace muster::engine::random
