#pragma once

#include <array>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "muster/base/float16.h"

namespace muster::comm::collective {

/// What the items of a collective's buffers are. `c64` and `c128` count the bits of both parts.
enum class Element : std::uint8_t {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  bf16,
  f16,
  f32,
  f64,
  c64,
  c128
};

inline constexpr std::array kElements = {Element::i8,   Element::u8,  Element::i16, Element::u16,
                                         Element::i32,  Element::u32, Element::i64, Element::u64,
                                         Element::bf16, Element::f16, Element::f32, Element::f64,
                                         Element::c64,  Element::c128};

inline constexpr std::array<std::uint8_t, kElements.size()> kItemSizes = {1, 1, 2, 2, 4, 4, 8,
                                                                          8, 2, 2, 4, 8, 8, 16};
[[nodiscard]] constexpr std::size_t item_size(Element element) {
  return kItemSizes[static_cast<std::size_t>(element)];
}

/// As NumPy writes it: "int32", "bfloat16", "complex64".
[[nodiscard]] std::string_view name(Element element);

[[nodiscard]] constexpr bool is_integer(Element element) { return element <= Element::u64; }
[[nodiscard]] constexpr bool is_complex(Element element) { return element >= Element::c64; }

/// The upper half of a float: 8 bits of exponent, 7 of fraction. Arithmetic happens in float.
struct BFloat16 {
  std::uint16_t bits;
};

/// Rounds to the nearest, ties to even; NaN stays NaN.
[[nodiscard]] BFloat16 to_bfloat16(float value);
[[nodiscard]] float to_float(BFloat16 value);
using muster::Float16;
using muster::to_float;
using muster::to_float16;

namespace detail {
template <class T>
struct ElementOf;  // a type that collectives do not know
#define MUSTER_ELEMENT(type, value)                     \
  template <>                                           \
  struct ElementOf<type> {                              \
    static constexpr Element kElement = Element::value; \
  }
MUSTER_ELEMENT(std::byte, u8);
MUSTER_ELEMENT(BFloat16, bf16);
MUSTER_ELEMENT(Float16, f16);
MUSTER_ELEMENT(float, f32);
MUSTER_ELEMENT(double, f64);
MUSTER_ELEMENT(std::complex<float>, c64);
MUSTER_ELEMENT(std::complex<double>, c128);
#undef MUSTER_ELEMENT

// By size and sign: `long` and `long long` are different types, and so are the three of `char`. Not
// bool: a sum of them is none. Some compilers have larger integers, too.
template <std::integral T>
  requires(!std::same_as<T, bool> && sizeof(T) <= sizeof(std::uint64_t))
struct ElementOf<T> {
  static constexpr auto kSize = static_cast<std::uint8_t>(std::bit_width(sizeof(T)) - 1);
  static constexpr auto kElement = static_cast<Element>(2 * kSize + (std::is_signed_v<T> ? 0 : 1));
};
}  // namespace detail

template <class T>
[[nodiscard]] constexpr Element element_of() {
  return detail::ElementOf<T>::kElement;
}

}  // namespace muster::comm::collective
