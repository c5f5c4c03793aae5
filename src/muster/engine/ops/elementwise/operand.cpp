#include "muster/engine/ops/elementwise/operand.h"

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "muster/engine/errors.h"
#include "muster/engine/ops/creation/constant.h"

namespace muster::engine {

namespace {

template <class N>
Scalar whole(N number, DType beside) {
  if (!is_integer(beside.type))
    return Scalar(number).cast(is_inexact(beside.type) ? beside : DType(Type::i64));
  const bool fits = with_type(beside.type, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return std::in_range<T>(number);
    else
      return true;
  });
  if (!fits)
    throw ArrayError(Wrong::overflow,
                     fmt::format("the number {} is out of bounds for {}", number, name(beside)));
  return Scalar(number).cast(beside);
}

struct Weigh {
  DType beside;

  Scalar operator()(bool number) const { return number; }
  Scalar operator()(std::int64_t number) const { return whole(number, beside); }
  Scalar operator()(std::uint64_t number) const { return whole(number, beside); }
  Scalar operator()(double number) const {
    return is_inexact(beside.type) ? Scalar(number).cast(beside) : Scalar(number);
  }
  Scalar operator()(std::complex<double> number) const {
    const bool narrow =
        beside.type == Type::c64 || beside.type == Type::f32 || beside.type == Type::f16;
    return Scalar(number).cast(narrow ? Type::c64 : Type::c128);
  }
};

}  // namespace

std::vector<Tensor> tensors_of(std::initializer_list<Operand> operands) {
  std::optional<DType> common;
  for (const Operand& each : operands) {
    if (each.tensor() == nullptr) continue;
    const DType dtype = each.tensor()->dtype();
    common = common ? promote(*common, dtype).value_or(dtype) : dtype;
  }
  std::vector<Tensor> tensors;
  // Numbers alone are what they are in C++.
  const Weigh weigh{common.value_or(DType(Type::b1))};
  for (const Operand& each : operands)
    tensors.push_back(each.tensor() != nullptr ? *each.tensor()
                                               : constant(std::visit(weigh, each.number())));
  return tensors;
}

Tensor elementwise(std::string_view name, std::initializer_list<Operand> operands) {
  return apply_one(name, tensors_of(operands));
}

}  // namespace muster::engine
