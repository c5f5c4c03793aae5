#pragma once

#include <bit>
#include <cstdint>

namespace muster {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction. Arithmetic happens in float.
struct Float16 {
  std::uint16_t bits;
};

/// Rounds to the nearest, ties to even; NaN stays NaN.
[[nodiscard]] inline Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fff'ffff;
  const auto with_sign = [sign](std::uint32_t half) {
    return Float16{static_cast<std::uint16_t>(sign | half)};
  };
  if (magnitude > 0x7f80'0000) return with_sign(0x7e00 | ((magnitude >> 13) & 0x3ff));
  if (magnitude >= 0x4780'0000) return with_sign(0x7c00);  // 2^16 and more
  if (magnitude < 0x3880'0000) {                           // below 2^-14: a subnormal
    // Adding one half puts the bits that binary16 keeps at the end of the sum, rounded by the
    // adder.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return with_sign(std::bit_cast<std::uint32_t>(sum) - 0x3f00'0000);
  }
  // The exponent is biased by 127 in a float and by 15 here. A carry out of the fraction is right,
  // even into infinity.
  const std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return with_sign((rounded >> 13) - (112u << 10));
}

[[nodiscard]] inline float to_float(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000) << 16;
  const std::uint32_t magnitude = value.bits & 0x7fff;
  if (magnitude >= 0x7c00)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f80'0000 | ((magnitude & 0x3ff) << 13));
  if (magnitude < 0x400) {  // zero and subnormals count in units of 2^-24
    const float positive = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(positive));
  }
  return std::bit_cast<float>(sign | ((magnitude + (112u << 10)) << 13));
}

}  // namespace muster
