#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "muster/engine/kernels/ufunc.h"
#include "muster/engine/value/scalar.h"

namespace muster::engine {

/// A straight-line program over blocks of items: what a chain of element-wise operators becomes.
/// Values are numbered: first the inputs, then the constants, then the result of each step.
/// Immutable once built.
class Program {
 public:
  struct Step {
    std::string_view name;  ///< of the operator, for explain and the wire; "cast" for conversions
    std::uint16_t form;     ///< which of the operator's loops
    Loop loop;
    std::size_t count;                    ///< of inputs
    std::array<std::uint16_t, 3> inputs;  ///< numbers of values
    Type output;
  };

  [[nodiscard]] const std::vector<Type>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Scalar>& constants() const { return constants_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] std::uint16_t result() const { return result_; }
  [[nodiscard]] Type type_of(std::uint16_t value) const;

  class Builder;

 private:
  std::vector<Type> inputs_;
  std::vector<Scalar> constants_;
  std::vector<Step> steps_;
  std::uint16_t result_ = 0;
};

/// Builds one; the same constant and the same step are taken once.
class Program::Builder {
 public:
  std::uint16_t input(Type type);
  std::uint16_t constant(const Scalar& scalar);
  /// `form` counts the loops of `ufunc`.
  std::uint16_t step(std::string_view name, const Ufunc& ufunc, std::size_t form,
                     const std::vector<std::uint16_t>& inputs);
  std::uint16_t cast(std::uint16_t value, Type to);
  /// All steps of `other`, its inputs being these values; gives its result.
  std::uint16_t include(const Program& other, const std::vector<std::uint16_t>& inputs);
  [[nodiscard]] Type type_of(std::uint16_t value) const;
  [[nodiscard]] std::shared_ptr<const Program> build(std::uint16_t result);

 private:
  struct Value {
    enum class Kind { input, constant, step } kind;
    std::uint16_t index;
  };
  std::uint16_t add_step(Program::Step step);

  Program program_;
  std::vector<Value> values_;  ///< in order of making; `build` renumbers
};

/// "t0 = sin(x0); t1 = multiply(t0, 2)": for explain.
[[nodiscard]] std::string text(const Program& program);

}  // namespace muster::engine
