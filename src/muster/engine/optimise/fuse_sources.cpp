#include "muster/engine/optimise/fuse_sources.h"

#include <algorithm>
#include <optional>

#include "muster/engine/kernels/program.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/elementwise/elementwise.h"
#include "muster/engine/ops/elementwise/sources.h"

namespace muster::engine {

namespace {

/// For each step the only one that reads it; nothing if there are several, or it is a result.
std::vector<std::optional<std::uint32_t>> only_readers(const Plan& plan) {
  std::vector<std::optional<std::uint32_t>> only(plan.steps.size());
  std::vector<bool> several(plan.steps.size(), false);
  for (const PlanRef result : plan.results) several[result.step] = true;
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
    for (const PlanRef input : plan.steps[s].inputs) {
      if (only[input.step] && *only[input.step] != s) several[input.step] = true;
      only[input.step] = s;
    }
  for (std::size_t s = 0; s < only.size(); ++s)
    if (several[s]) only[s].reset();
  return only;
}

/// The inputs of a step if all of them are single numbers that are known.
std::optional<std::vector<Array>> numbers_of(const Plan& plan, const PlanStep& step) {
  std::vector<Array> numbers;
  for (const PlanRef input : step.inputs) {
    const PlanStep& from = plan.steps[input.step];
    if (from.is_stored() || from.row != &constant_row()) return std::nullopt;
    numbers.push_back(from.attributes.get<Array>("array"));
    if (numbers.back().size() != 1) return std::nullopt;
  }
  return numbers;
}

/// The shape that the program of an element-wise operator or a reduction runs over.
Shape walked_shape(const Plan& plan, const PlanStep& step) {
  if (step.row->ufunc != nullptr) return step.outputs.front().shape;
  std::vector<Shape> shapes;
  for (const PlanRef input : step.inputs) shapes.push_back(plan.meta(input).shape);
  return broadcast(shapes, std::string(step.row->name));
}

bool runs_program(const PlanStep& step) {
  if (step.is_stored() || step.inputs.empty()) return false;
  if (step.row->reducer != nullptr)
    return step.attributes.has("program") || step.inputs.size() == 1;
  return step.row->ufunc != nullptr;
}

std::shared_ptr<const Program> program_in(const Plan& plan, const PlanStep& step) {
  std::vector<DType> types;
  for (const PlanRef input : step.inputs) types.push_back(plan.meta(input).dtype);
  if (step.row->ufunc != nullptr) return program_of(*step.row, step.attributes, types);
  if (const auto* fused = step.attributes.find("program"))
    return std::get<std::shared_ptr<const Program>>(*fused);
  Program::Builder builder;
  return builder.build(builder.input(types.front().type));
}

/// Takes the inputs of step `s` that are sources into it.
int take_sources(Plan& plan, std::uint32_t s,
                 const std::vector<std::optional<std::uint32_t>>& only_reader) {
  PlanStep& step = plan.steps[s];
  const Shape shape = walked_shape(plan, step);
  if (!is_known(shape)) return 0;
  std::vector<PlanRef> arrays;
  std::vector<PlanRef> sources;
  for (const PlanRef input : step.inputs) {
    const PlanStep& from = plan.steps[input.step];
    const bool is_source = !from.is_stored() && from.row->source != nullptr &&
                           only_reader[input.step] == s && plan.meta(input).shape == shape &&
                           numbers_of(plan, from);
    auto& kind = is_source ? sources : arrays;
    if (!is_source || std::find(kind.begin(), kind.end(), input) == kind.end())
      kind.push_back(input);
  }
  if (sources.empty()) return 0;

  const auto program = program_in(plan, step);
  Program::Builder builder;
  std::vector<std::uint16_t> of_arrays;
  std::vector<std::uint16_t> of_sources;
  for (const PlanRef input : arrays)
    of_arrays.push_back(builder.input(plan.meta(input).dtype.type));
  for (const PlanRef input : sources)
    of_sources.push_back(builder.input(plan.meta(input).dtype.type));
  std::vector<std::uint16_t> inputs;
  std::size_t next_array = 0;
  for (const PlanRef input : step.inputs) {
    const auto source = std::find(sources.begin(), sources.end(), input);
    inputs.push_back(source == sources.end() ? of_arrays[next_array++]
                                             : of_sources[source - sources.begin()]);
  }
  step.attributes =
      step.attributes.with("program", builder.build(builder.include(*program, inputs)));
  for (const PlanRef input : sources) {
    const PlanStep& from = plan.steps[input.step];
    step.attributes = with_source(step.attributes, *from.row, from.attributes, plan.meta(input),
                                  *numbers_of(plan, from));
  }
  if (step.row->ufunc != nullptr) step.row = &fused_row();
  step.inputs = std::move(arrays);
  return static_cast<int>(sources.size());
}

}  // namespace

int fuse_sources(Plan& plan) {
  const auto only_reader = only_readers(plan);
  int fired = 0;
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
    if (runs_program(plan.steps[s])) fired += take_sources(plan, s, only_reader);
  if (fired > 0) put_in_order(plan);
  return fired;
}

}  // namespace muster::engine
