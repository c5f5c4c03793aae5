#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::comm {

/// The type of an array's elements, written as NumPy writes it: byte order, kind and size, such as
/// "<f8", "|u1", "<M8[ns]".
class DType {
 public:
  DType() = default;
  /// Checks the form; only element types of fixed size without Python objects are taken.
  [[nodiscard]] static Result<DType> parse(std::string_view text);

  template <class T>
  [[nodiscard]] static DType of();

  [[nodiscard]] const std::string& str() const { return text_; }
  [[nodiscard]] std::size_t item_size() const { return item_size_; }
  bool operator==(const DType& other) const { return text_ == other.text_; }

 private:
  DType(std::string_view text, std::size_t item_size) : text_(text), item_size_(item_size) {}

  std::string text_ = "|u1";
  std::size_t item_size_ = 1;
};

template <>
inline DType DType::of<bool>() {
  return {"|b1", 1};
}
template <>
inline DType DType::of<std::int8_t>() {
  return {"|i1", 1};
}
template <>
inline DType DType::of<std::int16_t>() {
  return {"<i2", 2};
}
template <>
inline DType DType::of<std::int32_t>() {
  return {"<i4", 4};
}
template <>
inline DType DType::of<std::int64_t>() {
  return {"<i8", 8};
}
template <>
inline DType DType::of<std::uint8_t>() {
  return {"|u1", 1};
}
template <>
inline DType DType::of<std::uint16_t>() {
  return {"<u2", 2};
}
template <>
inline DType DType::of<std::uint32_t>() {
  return {"<u4", 4};
}
template <>
inline DType DType::of<std::uint64_t>() {
  return {"<u8", 8};
}
template <>
inline DType DType::of<float>() {
  return {"<f4", 4};
}
template <>
inline DType DType::of<double>() {
  return {"<f8", 8};
}
template <>
inline DType DType::of<std::complex<float>>() {
  return {"<c8", 8};
}
template <>
inline DType DType::of<std::complex<double>>() {
  return {"<c16", 16};
}

}  // namespace muster::comm
