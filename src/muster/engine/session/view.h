#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "muster/engine/value/array.h"

namespace muster::engine {

/// The items of a computed tensor as C++ values, in C order. Shares the memory with the result;
/// cheap to copy.
template <class T>
class View {
 public:
  /// `array` has items of this type, without gaps in C order.
  explicit View(Array array) : array_(std::move(array)) {}

  [[nodiscard]] const Shape& shape() const { return array_.shape(); }
  [[nodiscard]] std::size_t ndim() const { return array_.ndim(); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(array_.size()); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const T* data() const { return array_.template as<T>(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size(); }
  [[nodiscard]] std::span<const T> span() const { return {data(), size()}; }

  /// The item with this number in C order.
  [[nodiscard]] const T& operator[](std::size_t number) const { return data()[number]; }
  /// The item at a position, one index for each axis; neither is checked.
  template <class... Indices>
  [[nodiscard]] const T& operator()(Indices... indices) const {
    const std::array<Index, sizeof...(Indices)> position = {static_cast<Index>(indices)...};
    Index number = 0;
    for (std::size_t axis = 0; axis < position.size(); ++axis)
      number = number * shape()[axis] + position[axis];
    return data()[number];
  }
  /// The only item.
  [[nodiscard]] const T& item() const { return data()[0]; }

 private:
  Array array_;
};

}  // namespace muster::engine
