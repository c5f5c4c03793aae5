#include "muster/engine/optimise/fuse_elementwise.h"

#include <algorithm>
#include <map>
#include <optional>

#include "muster/engine/kernels/program.h"
#include "muster/engine/ops/elementwise/elementwise.h"

namespace muster::engine {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
/// Programs number their values with 16 bits and keep a block for each that is alive.
constexpr std::size_t kLongestProgram = 256;

bool is_elementwise(const PlanStep& step) {
  return !step.is_stored() && step.row->ufunc != nullptr;
}
bool closes(const PlanStep& step) { return !step.is_stored() && step.row->reducer != nullptr; }

/// The operator that each step is joined into: itself, or the last of its chain.
std::vector<std::uint32_t> heads_of(const Plan& plan) {
  std::vector<std::uint32_t> heads(plan.steps.size());
  std::vector<std::optional<std::uint32_t>> common(
      plan.steps.size());  // the head of all readers so far
  std::vector<bool> alone(plan.steps.size(),
                          false);  // it has readers of several heads, or is a result
  std::vector<std::size_t> members(plan.steps.size(), 1);
  for (const PlanRef result : plan.results) alone[result.step] = true;
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    const PlanStep& step = plan.steps[s];
    heads[s] = static_cast<std::uint32_t>(s);
    if (is_elementwise(step) && !alone[s] && common[s]) {
      const std::uint32_t head = *common[s];
      const PlanStep& last = plan.steps[head];
      const Shape& shape =
          closes(last) ? plan.meta(last.inputs.front()).shape : last.outputs.front().shape;
      const bool fits = (is_elementwise(last) || closes(last)) &&
                        step.outputs.front().shape == shape && is_known(shape) &&
                        members[head] < kLongestProgram;
      // A reduction's program is what its first input is made of.
      if (fits) {
        heads[s] = head;
        ++members[head];
      }
    }
    const bool joinable = is_elementwise(step) || closes(step);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const std::uint32_t from = step.inputs[i].step;
      if (!joinable || (closes(step) && i > 0) || (common[from] && *common[from] != heads[s]))
        alone[from] = true;
      common[from] = heads[s];
    }
  }
  return heads;
}

}  // namespace

int fuse_elementwise(Plan& plan) {
  const std::vector<std::uint32_t> heads = heads_of(plan);
  int fired = 0;
  std::vector<std::vector<std::uint32_t>> chains(plan.steps.size());
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) chains[heads[s]].push_back(s);

  Plan out;
  std::vector<std::uint32_t> numbers(plan.steps.size(), kNone);
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    if (heads[s] != s) continue;
    PlanStep step = plan.steps[s];
    const bool is_chain = chains[s].size() > 1;
    if (is_chain) {
      fired += static_cast<int>(chains[s].size()) - 1;
      Program::Builder builder;
      std::map<PlanRef, std::uint16_t> values;
      std::vector<PlanRef> inputs;
      for (const std::uint32_t member : chains[s])
        if (is_elementwise(plan.steps[member]))
          for (const PlanRef input : plan.steps[member].inputs)
            if (heads[input.step] != s && !values.contains(input)) {
              values.emplace(input, builder.input(plan.meta(input).dtype.type));
              inputs.push_back(input);
            }
      std::uint16_t result = 0;
      for (const std::uint32_t member : chains[s]) {
        const PlanStep& from = plan.steps[member];
        if (!is_elementwise(from)) continue;
        std::vector<std::uint16_t> arguments;
        std::vector<DType> types;
        for (const PlanRef input : from.inputs) {
          arguments.push_back(values.at(input));
          types.push_back(plan.meta(input).dtype);
        }
        result = builder.include(*program_of(*from.row, from.attributes, types), arguments);
        values.emplace(PlanRef{member, 0}, result);
      }
      if (closes(step)) result = values.at(plan.steps[s].inputs.front());
      step.attributes = step.attributes.with("program", builder.build(result));
      if (is_elementwise(step)) step.row = &fused_row();
      step.inputs = std::move(inputs);
    }
    for (PlanRef& input : step.inputs) input.step = numbers[input.step];
    numbers[s] = static_cast<std::uint32_t>(out.steps.size());
    out.steps.push_back(std::move(step));
  }
  for (const PlanRef result : plan.results)
    out.results.push_back({numbers[result.step], result.output});
  plan = std::move(out);
  return fired;
}

}  // namespace muster::engine
