#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "muster/base/assert.h"

namespace muster::comm {

/// Values that come and go in any order, at places that are used again. Not thread-safe.
template <class T>
class Slab {
 public:
  using Index = std::uint32_t;

  [[nodiscard]] Index put(T value) {
    if (free_.empty()) {
      MUSTER_ASSERT(values_.size() < UINT32_MAX, "the owner bounds how many values it puts");
      values_.push_back(std::move(value));
      return static_cast<Index>(values_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    values_[index] = std::move(value);
    return index;
  }

  [[nodiscard]] T take(Index index) {
    T value = std::exchange(values_[index], T{});
    free_.push_back(index);
    return value;
  }

  [[nodiscard]] T& operator[](Index index) { return values_[index]; }
  [[nodiscard]] const T& operator[](Index index) const { return values_[index]; }
  [[nodiscard]] std::size_t size() const { return values_.size() - free_.size(); }

  /// Forgets all and gives the memory back.
  void clear() {
    values_ = {};
    free_ = {};
  }

 private:
  std::vector<T> values_;
  std::vector<Index> free_;
};

}  // namespace muster::comm
