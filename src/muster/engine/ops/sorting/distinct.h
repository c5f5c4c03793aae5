#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "muster/engine/ops/sorting/keys.h"

namespace muster::engine {

/// Complex keys only: other NaN have one key, the greatest.
template <class T>
bool is_nan_key(const T&) {
  return false;
}
template <class T>
bool is_nan_key(const std::complex<T>& key) {
  return KeyLess<std::complex<T>>::rank(key) != 0;
}

/// Whether two keys stand for one item. All NaN do, however many kinds a complex one has.
template <class T>
bool same_key(const T& a, const T& b) {
  return (is_nan_key(a) && is_nan_key(b)) || (!KeyLess<T>()(a, b) && !KeyLess<T>()(b, a));
}

/// Numbers from `least` on.
template <class T>
struct KeyRange {
  T least;
  std::size_t count;
};

/// Where all keys lie, if that is close together, such as for small whole numbers: a table of what
/// is between stays in the cache.
template <class T>
std::optional<KeyRange<T>> close_range(std::span<const T> keys) {
  constexpr std::uint64_t kClose = 1u << 20;
  constexpr std::size_t kSample = 256;
  const auto range_of = [&](std::span<const T> some) -> std::optional<KeyRange<T>> {
    const auto [least, greatest] = std::minmax_element(some.begin(), some.end());
    const auto width = static_cast<std::uint64_t>(*greatest - *least);
    if (width >= std::min<std::uint64_t>(kClose, keys.size())) return std::nullopt;
    return KeyRange<T>{*least, static_cast<std::size_t>(width) + 1};
  };
  if (keys.size() < kSample || !range_of(keys.first(kSample))) return std::nullopt;
  return range_of(keys);
}

/// Arrays with one axis, one behind the other.
[[nodiscard]] Array joined(std::span<const Array> arrays, Memory& memory);

/// A prefix of an array with one axis, in memory of its own size.
[[nodiscard]] Array shortened(const Array& array, Index size, Memory& memory);

/// Keys without repeats, sorted.
[[nodiscard]] Array distinct_keys(Array keys, Memory& memory);

}  // namespace muster::engine
