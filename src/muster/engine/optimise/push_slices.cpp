#include "muster/engine/optimise/push_slices.h"

#include <algorithm>
#include <utility>

#include "muster/engine/ops/indexing/range.h"

namespace muster::engine {

namespace {

/// The parameters of a "slice", axis by axis.
struct Bounds {
  Ints start, stop, step, items;

  [[nodiscard]] bool is_item(std::size_t axis) const {
    return std::find(items.begin(), items.end(), static_cast<Index>(axis)) != items.end();
  }
};

Bounds bounds_of(const PlanStep& step) {
  const Attributes& from = step.attributes;
  return {from.ints("start"), from.ints("stop"), from.ints("step"),
          from.has("items") ? from.ints("items") : Ints()};
}

/// The same slice of an input that is broadcast to `shape`: axes that it lacks are left out, and of
/// those that are repeated the only item is taken.
PlanStep slice_of_input(const PlanStep& slice, const Bounds& whole, const Shape& shape,
                        PlanRef input, const Meta& meta) {
  const std::size_t missing = shape.size() - meta.shape.size();
  Bounds own;
  Shape left;
  for (std::size_t axis = 0; axis < meta.shape.size(); ++axis) {
    const std::size_t of_whole = axis + missing;
    const bool repeated = meta.shape[axis] != shape[of_whole];
    const bool is_item = whole.is_item(of_whole);
    own.start.push_back(repeated ? (is_item ? 0 : kOpen) : whole.start[of_whole]);
    own.stop.push_back(repeated ? kOpen : whole.stop[of_whole]);
    own.step.push_back(repeated ? kOpen : whole.step[of_whole]);
    if (is_item)
      own.items.push_back(static_cast<Index>(axis));
    else
      left.push_back(
          slice_range(own.start[axis], own.stop[axis], own.step[axis], meta.shape[axis]).count);
  }
  PlanStep out = slice;
  out.attributes = {
      {"start", own.start}, {"stop", own.stop}, {"step", own.step}, {"items", own.items}};
  out.inputs = {input};
  out.outputs = {{meta.dtype, std::move(left)}};
  return out;
}

bool is_slice(const PlanStep& step) { return !step.is_stored() && step.row->name == "slice"; }

/// An element-wise operator without anything unknown about it.
bool can_be_passed(const Plan& plan, const PlanStep& step) {
  if (step.is_stored() || step.row->ufunc == nullptr || !is_known(step.outputs.front().shape))
    return false;
  return std::all_of(step.inputs.begin(), step.inputs.end(),
                     [&](PlanRef input) { return is_known(plan.meta(input).shape); });
}

}  // namespace

int push_slices(Plan& plan) {
  int fired = 0;
  std::vector<std::vector<std::uint32_t>> readers = reader_counts(plan);
  std::vector<std::uint32_t> slices;
  for (std::uint32_t number = 0; number < plan.steps.size(); ++number)
    if (is_slice(plan.steps[number])) slices.push_back(number);

  while (!slices.empty()) {
    const std::uint32_t number = slices.back();
    slices.pop_back();
    const std::uint32_t passed = plan.steps[number].inputs.front().step;
    if (!can_be_passed(plan, plan.steps[passed]) || readers[passed][0] != 1) continue;

    // The operator takes the place of the slice, and reads new slices of its inputs.
    const PlanStep slice = plan.steps[number];
    const PlanStep through = plan.steps[passed];
    const Bounds bounds = bounds_of(slice);
    PlanStep here = slice;
    here.row = through.row;
    here.attributes = through.attributes;
    here.origin = through.origin;
    here.inputs.clear();
    for (const PlanRef input : through.inputs) {
      const auto added = static_cast<std::uint32_t>(plan.steps.size());
      plan.steps.push_back(
          slice_of_input(slice, bounds, through.outputs.front().shape, input, plan.meta(input)));
      readers.emplace_back(1, 1);
      here.inputs.push_back({added, 0});
      slices.push_back(added);
    }
    plan.steps[number] = std::move(here);
    readers[passed][0] = 0;
    ++fired;
  }
  if (fired > 0) put_in_order(plan);
  return fired;
}

}  // namespace muster::engine
