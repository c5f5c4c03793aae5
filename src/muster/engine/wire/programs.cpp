#include "muster/engine/wire/programs.h"

#include <string>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

namespace {

constexpr std::size_t kMostValues = UINT16_MAX;

Type read_type(ByteReader& in) {
  const auto type = in.number<std::uint8_t>();
  if (type >= kTypes) in.refuse(fmt::format("there is no type {}", type));
  return static_cast<Type>(type);
}

std::uint16_t read_step(ByteReader& in, Program::Builder& builder,
                        const std::vector<std::uint16_t>& values) {
  const std::string_view name = in.text();
  const auto form = in.number<std::uint16_t>();
  std::vector<std::uint16_t> inputs(in.count(sizeof(std::uint16_t)));
  for (std::uint16_t& input : inputs) {
    const auto number = in.number<std::uint16_t>();
    if (number >= values.size())
      in.refuse(fmt::format("step '{}' reads value {} of {}", name, number, values.size()));
    input = values[number];
  }
  if (name == "cast") {
    if (inputs.size() != 1 || form >= kTypes) in.refuse("a cast has one input and a type");
    return builder.cast(inputs.front(), static_cast<Type>(form));
  }
  const OperatorRow* const row = registry().find_operator(name);
  if (row == nullptr || row->ufunc == nullptr)
    in.refuse(fmt::format("'{}' is no element-wise operator", name));
  if (form >= row->ufunc->loops.size() || inputs.size() != row->ufunc->inputs)
    in.refuse(fmt::format("'{}' has no form {} with {} inputs", name, form, inputs.size()));
  return builder.step(row->name, *row->ufunc, form, inputs);
}

}  // namespace

void write_program(ByteWriter& out, const Program& program) {
  out.count(program.inputs().size());
  for (const Type type : program.inputs()) out.number(static_cast<std::uint8_t>(type));
  out.count(program.constants().size());
  for (const Scalar& scalar : program.constants()) {
    out.number(static_cast<std::uint8_t>(scalar.dtype().type));
    out.raw({static_cast<const std::byte*>(scalar.data()), item_size(scalar.dtype())});
  }
  out.count(program.steps().size());
  for (const Program::Step& step : program.steps()) {
    out.text(step.name);
    out.number(step.form);
    out.count(step.count);
    for (std::size_t i = 0; i < step.count; ++i) out.number(step.inputs[i]);
  }
  out.number(program.result());
}

std::shared_ptr<const Program> read_program(ByteReader& in) {
  Program::Builder builder;
  std::vector<std::uint16_t> values;  // what the sender's numbers are here
  const std::size_t inputs = in.count(1);
  if (inputs > kMostValues) in.refuse("a program with too many inputs");
  for (std::size_t i = 0; i < inputs; ++i) values.push_back(builder.input(read_type(in)));
  const std::size_t constants = in.count(2);
  if (inputs + constants > kMostValues) in.refuse("a program with too many constants");
  for (std::size_t i = 0; i < constants; ++i) {
    const Type type = read_type(in);
    values.push_back(builder.constant(Scalar(type, in.raw(item_size(type)).data())));
  }
  const std::size_t steps = in.count(10);
  // A step may bring a cast for each of its inputs.
  if (inputs + constants + 4 * steps > kMostValues) in.refuse("a program with too many steps");
  for (std::size_t i = 0; i < steps; ++i) values.push_back(read_step(in, builder, values));
  const auto result = in.number<std::uint16_t>();
  if (result >= values.size())
    in.refuse(fmt::format("the result is value {} of {}", result, values.size()));
  return builder.build(values[result]);
}

}  // namespace muster::engine
