#include "muster/engine/kernels/program.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/base/assert.h"

namespace muster::engine {

Type Program::type_of(std::uint16_t value) const {
  std::size_t at = value;
  if (at < inputs_.size()) return inputs_[at];
  at -= inputs_.size();
  if (at < constants_.size()) return constants_[at].dtype().type;
  return steps_[at - constants_.size()].output;
}

std::uint16_t Program::Builder::input(Type type) {
  program_.inputs_.push_back(type);
  values_.push_back({Value::Kind::input, static_cast<std::uint16_t>(program_.inputs_.size() - 1)});
  return static_cast<std::uint16_t>(values_.size() - 1);
}

std::uint16_t Program::Builder::constant(const Scalar& scalar) {
  for (std::size_t value = 0; value < values_.size(); ++value)
    if (values_[value].kind == Value::Kind::constant &&
        program_.constants_[values_[value].index] == scalar)
      return static_cast<std::uint16_t>(value);
  program_.constants_.push_back(scalar);
  values_.push_back(
      {Value::Kind::constant, static_cast<std::uint16_t>(program_.constants_.size() - 1)});
  return static_cast<std::uint16_t>(values_.size() - 1);
}

std::uint16_t Program::Builder::add_step(Program::Step step) {
  for (std::size_t value = 0; value < values_.size(); ++value) {
    if (values_[value].kind != Value::Kind::step) continue;
    const Step& other = program_.steps_[values_[value].index];
    if (other.loop == step.loop && other.count == step.count && other.inputs == step.inputs)
      return static_cast<std::uint16_t>(value);
  }
  program_.steps_.push_back(step);
  values_.push_back({Value::Kind::step, static_cast<std::uint16_t>(program_.steps_.size() - 1)});
  return static_cast<std::uint16_t>(values_.size() - 1);
}

std::uint16_t Program::Builder::step(std::string_view name, const Ufunc& ufunc, std::size_t form,
                                     const std::vector<std::uint16_t>& inputs) {
  const LoopRow& row = ufunc.loops[form];
  Step step{name, static_cast<std::uint16_t>(form), row.loop, inputs.size(), {}, row.output};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    step.inputs[i] = type_of(inputs[i]) == row.items[i]
                         ? inputs[i]
                         : cast(cast(inputs[i], row.inputs[i]), row.items[i]);
  return add_step(step);
}

std::uint16_t Program::Builder::cast(std::uint16_t value, Type to) {
  const Type from = type_of(value);
  const auto stored = [](Type t) { return is_time(t) ? Type::i64 : t; };
  if (stored(from) == stored(to)) return value;
  return add_step({"cast", static_cast<std::uint16_t>(to), cast_loop(from, to), 1, {value}, to});
}

std::uint16_t Program::Builder::include(const Program& other,
                                        const std::vector<std::uint16_t>& inputs) {
  std::vector<std::uint16_t> values = inputs;
  for (const Scalar& scalar : other.constants_) values.push_back(constant(scalar));
  for (Step step : other.steps_) {
    for (std::size_t i = 0; i < step.count; ++i) step.inputs[i] = values[step.inputs[i]];
    values.push_back(add_step(step));
  }
  return values[other.result_];
}

Type Program::Builder::type_of(std::uint16_t value) const {
  const Value& at = values_[value];
  switch (at.kind) {
    case Value::Kind::input: return program_.inputs_[at.index];
    case Value::Kind::constant: return program_.constants_[at.index].dtype().type;
    case Value::Kind::step: break;
  }
  return program_.steps_[at.index].output;
}

std::shared_ptr<const Program> Program::Builder::build(std::uint16_t result) {
  const auto number = [&](std::uint16_t value) -> std::uint16_t {
    const Value& at = values_[value];
    std::size_t base = 0;
    if (at.kind != Value::Kind::input) base += program_.inputs_.size();
    if (at.kind == Value::Kind::step) base += program_.constants_.size();
    return static_cast<std::uint16_t>(base + at.index);
  };
  auto program = std::make_shared<Program>(program_);
  for (Step& step : program->steps_)
    for (std::size_t i = 0; i < step.count; ++i) step.inputs[i] = number(step.inputs[i]);
  program->result_ = number(result);
  return program;
}

std::string text(const Program& program) {
  const std::size_t inputs = program.inputs().size();
  const std::size_t first_step = inputs + program.constants().size();
  const auto value = [&](std::uint16_t number) {
    if (number < inputs) return fmt::format("x{}", number);
    if (number < first_step) return fmt::format("c{}", number - inputs);
    return fmt::format("t{}", number - first_step);
  };
  std::string out;
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    const Program::Step& step = program.steps()[i];
    out += fmt::format("{}t{} = {}(", i == 0 ? "" : "; ", i, step.name);
    for (std::size_t k = 0; k < step.count; ++k)
      out += (k == 0 ? "" : ", ") + value(step.inputs[k]);
    out += ")";
  }
  return out.empty() ? value(program.result()) : out;
}

}  // namespace muster::engine
