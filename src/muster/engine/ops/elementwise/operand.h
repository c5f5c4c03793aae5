#pragma once

#include <complex>
#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <variant>
#include <vector>

#include "muster/engine/graph/tensor.h"

namespace muster::engine {

/// A number of C++ that may stand beside a tensor.
template <class T>
concept Number = std::is_arithmetic_v<T>;

/// What an element-wise function takes: a tensor, or a number, which takes the dtype of the tensors
/// beside it if its kind can hold it, as in NumPy.
class Operand {
 public:
  using Weak = std::variant<bool, std::int64_t, std::uint64_t, double, std::complex<double>>;

  Operand(Tensor tensor) : value_(std::move(tensor)) {}  // NOLINT: a tensor is one
  template <Number T>
  Operand(T number) : value_(weak(number)) {}  // NOLINT: a number is one
  template <std::floating_point T>
  Operand(std::complex<T> number)  // NOLINT: a number is one
      : value_(Weak(std::complex<double>(number))) {}

  [[nodiscard]] const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  [[nodiscard]] const Weak& number() const { return std::get<Weak>(value_); }

 private:
  template <Number T>
  static Weak weak(T number) {
    if constexpr (std::is_same_v<T, bool>)
      return number;
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<double>(number);
    else if constexpr (std::is_signed_v<T>)
      return static_cast<std::int64_t>(number);
    else
      return static_cast<std::uint64_t>(number);
  }

  std::variant<Tensor, Weak> value_;
};

/// Tensors of operands. Throws ArrayError (overflow) for a whole number that the dtype beside it
/// cannot hold.
[[nodiscard]] std::vector<Tensor> tensors_of(std::initializer_list<Operand> operands);

/// The operator `name` on them.
[[nodiscard]] Tensor elementwise(std::string_view name, std::initializer_list<Operand> operands);

}  // namespace muster::engine
