#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "muster/engine/value/dtype.h"

namespace muster::engine {

/// One item of any dtype.
class Scalar {
 public:
  Scalar() = default;
  template <class T>
  Scalar(T value) : dtype_(kTypeOf<T>) {  // NOLINT: a number is a scalar
    std::memcpy(bytes_.data(), &value, sizeof value);
  }
  Scalar(DType dtype, const void* item) : dtype_(dtype) {
    std::memcpy(bytes_.data(), item, item_size(dtype));
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const void* data() const { return bytes_.data(); }
  /// The item itself; `T` is its type.
  template <class T>
  [[nodiscard]] T as() const {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }
  /// Converted as an item of an array would be.
  [[nodiscard]] Scalar cast(DType to) const;

  friend bool operator==(const Scalar&, const Scalar&) = default;

 private:
  DType dtype_;
  alignas(16) std::array<std::byte, 16> bytes_{};
};

}  // namespace muster::engine
