#include "muster/comm/collective/element.h"

#include <bit>

namespace muster::comm::collective {

std::string_view name(Element element) {
  constexpr std::array<std::string_view, kElements.size()> kNames = {
      "int8",   "uint8",    "int16",   "uint16",  "int32",   "uint32",    "int64",
      "uint64", "bfloat16", "float16", "float32", "float64", "complex64", "complex128"};
  const auto index = static_cast<std::size_t>(element);
  return index < kNames.size() ? kNames[index] : "unknown";  // what another rank says
}

BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Rounding could carry a NaN into infinity, so NaN keeps its upper half and gets a bit that
  // stays.
  if ((bits & 0x7fff'ffff) > 0x7f80'0000) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

}  // namespace muster::comm::collective
