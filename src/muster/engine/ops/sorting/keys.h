#pragma once

#include <complex>
#include <cstdint>

#include "muster/engine/value/array.h"

namespace muster::engine {

/// What items are sorted as: numbers without a sign whose order is that of the items, with NaN and
/// NaT last. Complex items are their own keys. A pair is a key with the place it came from.
struct Pair {
  std::uint64_t place;
  std::uint64_t key;
  friend bool operator==(const Pair&, const Pair&) = default;
};
static_assert(sizeof(Pair) == 16);

/// Complex numbers in NumPy's order: by the real part, then the imaginary; with NaN in either last.
[[nodiscard]] Type key_type(Type type);

/// The keys of an array in C order. With `merge_zeros` -0.0 and 0.0 have one key.
[[nodiscard]] Array encoded(const Array& items, bool merge_zeros, Memory& memory);
/// The same, written to `to`.
void encode_into(const Array& items, bool merge_zeros, std::byte* to);
/// The items with these keys; in the same memory if nobody else shares it.
[[nodiscard]] Array decoded(Array keys, DType dtype, Memory& memory);

/// Keys, each with its number in C order counted from `first`; carried as 16-byte items. Not for
/// complex.
[[nodiscard]] Array paired(const Array& items, Index first, Memory& memory);
/// The same, written to `to`.
void pair_up(const Array& items, Index first, Pair* to, Memory& memory);

/// M(T) for every type of keys: where templates for them are made.
#define MUSTER_FOR_KEYS(M) \
  M(std::uint8_t)          \
  M(std::uint16_t)         \
  M(std::uint32_t)         \
  M(std::uint64_t)         \
  M(Pair)                  \
  M(std::complex<float>)   \
  M(std::complex<double>)

template <class T>
struct KeyLess {
  bool operator()(const T& a, const T& b) const { return a < b; }
};
template <>
struct KeyLess<Pair> {
  bool operator()(const Pair& a, const Pair& b) const {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};
template <class T>
struct KeyLess<std::complex<T>> {
  static int rank(const std::complex<T>& x) {
    return (x.real() != x.real() ? 2 : 0) + (x.imag() != x.imag() ? 1 : 0);
  }
  bool operator()(const std::complex<T>& a, const std::complex<T>& b) const {
    const int left = rank(a);
    const int right = rank(b);
    if (left != right) return left < right;
    if (left < 2 && a.real() != b.real()) return a.real() < b.real();
    return (left & 1) == 0 && a.imag() < b.imag();
  }
};

/// Calls `f` with a key of this type (u8, u16, u32, u64, c64, c128).
template <class F>
decltype(auto) with_key(Type key, F&& f) {
  switch (key) {
    case Type::u8: return f(std::uint8_t{});
    case Type::u16: return f(std::uint16_t{});
    case Type::u32: return f(std::uint32_t{});
    case Type::c64: return f(std::complex<float>{});
    case Type::c128: return f(std::complex<double>{});
    default: break;
  }
  return f(std::uint64_t{});
}

}  // namespace muster::engine
