#include "muster/engine/optimise/plan.h"

#include <chrono>
#include <unordered_map>

#include "muster/engine/session/options.h"

namespace muster::engine {

Plan make_plan(const std::vector<Tensor>& tensors) {
  Plan plan;
  std::unordered_map<const Node*, std::uint32_t> numbers;
  // Depth first without recursion: a node is visited, then its inputs, then it is placed.
  struct Visit {
    const Node* node;
    std::size_t next_input;
  };
  std::vector<Visit> stack;
  const auto stored_of = [](const Node& node) {
    std::vector<std::shared_ptr<const Stored>> stored;
    for (std::size_t output = 0; output < node.outputs(); ++output) {
      stored.push_back(node.stored(output));
      if (!stored.back()) return std::vector<std::shared_ptr<const Stored>>();
    }
    return stored;
  };
  for (const Tensor& tensor : tensors) {
    stack.push_back({tensor.node().get(), 0});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      const Node& node = *visit.node;
      if (numbers.contains(&node)) {
        stack.pop_back();
        continue;
      }
      auto stored = stored_of(node);
      if (stored.empty() && visit.next_input < node.inputs().size()) {
        stack.push_back({node.inputs()[visit.next_input++].node().get(), 0});
        continue;
      }
      PlanStep step{&node.row(), node.attributes(), {}, {}, node.origin(), std::move(stored)};
      for (std::size_t output = 0; output < node.outputs(); ++output)
        step.outputs.push_back(node.meta(output));
      if (!step.is_stored())
        for (const Tensor& input : node.inputs())
          step.inputs.push_back(
              {numbers.at(input.node().get()), static_cast<std::uint32_t>(input.output())});
      numbers.emplace(&node, static_cast<std::uint32_t>(plan.steps.size()));
      plan.steps.push_back(std::move(step));
      stack.pop_back();
    }
    plan.results.push_back(
        {numbers.at(tensor.node().get()), static_cast<std::uint32_t>(tensor.output())});
  }
  return plan;
}

std::vector<std::vector<std::uint32_t>> reader_counts(const Plan& plan) {
  std::vector<std::vector<std::uint32_t>> counts;
  for (const PlanStep& step : plan.steps) counts.emplace_back(step.outputs.size(), 0);
  for (const PlanStep& step : plan.steps)
    for (const PlanRef input : step.inputs) ++counts[input.step][input.output];
  for (const PlanRef result : plan.results) ++counts[result.step][result.output];
  return counts;
}

void put_in_order(Plan& plan) {
  constexpr std::uint32_t kUnplaced = UINT32_MAX;
  std::vector<std::uint32_t> numbers(plan.steps.size(), kUnplaced);
  std::vector<PlanStep> steps;
  struct Visit {
    std::uint32_t step;
    std::size_t next_input;
  };
  std::vector<Visit> stack;
  for (const PlanRef result : plan.results) {
    stack.push_back({result.step, 0});
    while (!stack.empty()) {
      Visit& visit = stack.back();
      PlanStep& step = plan.steps[visit.step];
      if (numbers[visit.step] != kUnplaced) {
        stack.pop_back();
      } else if (visit.next_input < step.inputs.size()) {
        stack.push_back({step.inputs[visit.next_input++].step, 0});
      } else {
        for (PlanRef& input : step.inputs) input.step = numbers[input.step];
        numbers[visit.step] = static_cast<std::uint32_t>(steps.size());
        steps.push_back(std::move(step));
        stack.pop_back();
      }
    }
  }
  for (PlanRef& result : plan.results) result.step = numbers[result.step];
  plan.steps = std::move(steps);
}

std::vector<PassReport> optimise(Plan& plan, const Options& options) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes()) {
    if (options.disabled_passes.contains(std::string(pass.name))) continue;
    const auto start = std::chrono::steady_clock::now();
    const int fired = pass.run(plan);
    reports.push_back(
        {pass.name, fired,
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
  }
  return reports;
}

}  // namespace muster::engine
