#include "muster/engine/optimise/share_subexpressions.h"

#include <string>
#include <unordered_map>

#include "muster/engine/graph/attribute_key.h"

namespace muster::engine {

namespace {

std::string key_of(const PlanStep& step) {
  std::string key;
  const auto append = [&key]<class T>(const T& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(T));
  };
  append(reinterpret_cast<std::uintptr_t>(step.row));
  for (const PlanRef input : step.inputs) {
    append(input.step);
    append(input.output);
  }
  append_key(key, step.attributes);
  return key;
}

}  // namespace

int share_subexpressions(Plan& plan) {
  int fired = 0;
  std::unordered_map<std::string, std::uint32_t> seen;
  std::vector<std::uint32_t> same_as(plan.steps.size());
  for (std::uint32_t number = 0; number < plan.steps.size(); ++number) {
    PlanStep& step = plan.steps[number];
    same_as[number] = number;
    for (PlanRef& input : step.inputs) input.step = same_as[input.step];
    if (step.is_stored() || step.row->effects) continue;
    const auto [first, is_new] = seen.emplace(key_of(step), number);
    if (is_new) continue;
    same_as[number] = first->second;
    ++fired;
  }
  for (PlanRef& result : plan.results) result.step = same_as[result.step];
  return fired;
}

}  // namespace muster::engine
