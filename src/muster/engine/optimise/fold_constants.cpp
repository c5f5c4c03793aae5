#include "muster/engine/optimise/fold_constants.h"

#include <cstring>

#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/ops/creation/constant.h"
#include "muster/engine/ops/elementwise/elementwise.h"

namespace muster::engine {

namespace {

/// The number that a step stands for; an empty handle if it is no constant of one item.
Array number_of_step(const PlanStep& step) {
  if (step.is_stored() || step.row != &constant_row()) return {};
  Array array = step.attributes.get<Array>("array");
  return array.size() == 1 ? array : Array();
}

}  // namespace

int fold_constants(Plan& plan) {
  int fired = 0;
  for (PlanStep& step : plan.steps) {
    if (step.is_stored() || step.row->ufunc == nullptr || step.inputs.empty()) continue;
    std::vector<Array> numbers;
    std::vector<DType> types;
    for (const PlanRef input : step.inputs) {
      numbers.push_back(number_of_step(plan.steps[input.step]));
      if (!numbers.back()) break;
      types.push_back(numbers.back().dtype());
    }
    if (types.size() != step.inputs.size()) continue;

    const auto program = program_of(*step.row, step.attributes, types);
    const Meta& meta = step.outputs.front();
    alignas(16) std::array<std::byte, 16> item{};
    (void)Evaluation(*program, numbers, meta.shape).block(0, 1, item.data());
    step.row = &constant_row();
    step.attributes = {{"array", Array::copy_of(meta.dtype, meta.shape, item.data())}};
    step.inputs.clear();
    ++fired;
  }
  return fired;
}

}  // namespace muster::engine
