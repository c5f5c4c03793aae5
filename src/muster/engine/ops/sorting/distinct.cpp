#include "muster/engine/ops/sorting/distinct.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "muster/engine/ops/sorting/runs.h"

namespace muster::engine {

namespace {

/// If all keys lie close together: puts the different ones in order to the front, without sorting,
/// and gives their number.
template <class T>
std::optional<Index> distinct_of_close(std::span<T> keys) {
  const auto range = close_range<T>(keys);
  if (!range) return std::nullopt;
  std::vector<std::uint8_t> seen(range->count, 0);
  for (const T key : keys) seen[static_cast<std::size_t>(key - range->least)] = 1;
  Index found = 0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != 0) keys[static_cast<std::size_t>(found++)] = static_cast<T>(range->least + i);
  return found;
}

}  // namespace

Array shortened(const Array& array, Index size, Memory& memory) {
  if (size == array.size()) return array;
  Array out(memory, array.dtype(), {size});
  std::memcpy(out.mutable_data(), array.data(), out.nbytes());
  return out;
}

Array joined(std::span<const Array> arrays, Memory& memory) {
  Index size = 0;
  for (const Array& array : arrays) size += array.size();
  Array out(memory, arrays.front().dtype(), {size});
  std::byte* at = out.mutable_data();
  for (const Array& array : arrays) {
    if (array.size() > 0) std::memcpy(at, array.data(), array.nbytes());
    at += array.nbytes();
  }
  return out;
}

Array distinct_keys(Array keys, Memory& memory) {
  Index size = 0;
  with_key(keys.dtype().type, [&](auto zero) {
    using T = decltype(zero);
    T* const items = keys.mutable_as<T>();
    const std::span<T> all(items, static_cast<std::size_t>(keys.size()));
    if constexpr (std::is_unsigned_v<T>) {
      if (const auto found = distinct_of_close(all)) {
        size = *found;
        return;
      }
    }
    KeySorter().sort(items, all.size());
    size = std::unique(items, items + keys.size(), same_key<T>) - items;
  });
  return shortened(keys, size, memory);
}

}  // namespace muster::engine
