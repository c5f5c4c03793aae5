#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "muster/comm/collective/element.h"
#include "muster/comm/collective/reduction.h"

namespace muster::comm::collective::scalar {

/// The reductions item by item, as plainly as they can be written: what the vector code is checked
/// against, and what does the cases that have none.

template <class T>
concept Half = std::same_as<T, BFloat16> || std::same_as<T, Float16>;

template <class T>
[[nodiscard]] T from_float(float value) {
  if constexpr (std::same_as<T, BFloat16>)
    return to_bfloat16(value);
  else
    return to_float16(value);
}

/// Unsigned, and wide enough that C++ does not promote it to a signed type: there overflow is
/// undefined.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

struct Sum {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    if constexpr (std::integral<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    else
      return a + b;
  }
};

struct Prod {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    if constexpr (std::integral<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    else
      return a * b;
  }
  // Without the detour through infinities that std::complex takes: as NumPy computes it.
  template <class T>
  [[nodiscard]] std::complex<T> operator()(std::complex<T> a, std::complex<T> b) const {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};

struct Min {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    if constexpr (std::floating_point<T>)
      if (std::isnan(a)) return a;
    return a < b ? a : b;  // b when it is NaN
  }
};

struct Max {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    if constexpr (std::floating_point<T>)
      if (std::isnan(a)) return a;
    return a > b ? a : b;
  }
};

struct And {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct Or {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct Xor {
  template <class T>
  [[nodiscard]] T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

template <class T, class Op>
[[nodiscard]] T combine(T a, T b) {
  if constexpr (Half<T>)
    return from_float<T>(Op{}(to_float(a), to_float(b)));
  else
    return Op{}(a, b);
}

/// into = a ∘ b. Buffers need no alignment.
template <class T, class Op>
void reduce(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T left;
    T right;
    std::memcpy(&left, a + i * sizeof(T), sizeof(T));
    std::memcpy(&right, b + i * sizeof(T), sizeof(T));
    const T result = combine<T, Op>(left, right);
    std::memcpy(into + i * sizeof(T), &result, sizeof(T));
  }
}

/// The kernel for one kind and element; null where there is none.
[[nodiscard]] ReduceKernel kernel(ReductionKind kind, Element element);

}  // namespace muster::comm::collective::scalar
