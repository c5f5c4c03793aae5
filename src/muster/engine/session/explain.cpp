#include "muster/engine/session/explain.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "muster/engine/kernels/program.h"
#include "muster/engine/ops/elementwise/sources.h"
#include "muster/engine/tile/tiler.h"

namespace muster::engine {

namespace {

/// Thrown out of tiling where it would have to run something.
struct WouldRun {};

std::string program_text(const Program& program, const std::vector<std::string>& sources) {
  std::string out;
  const std::size_t arrays = program.inputs().size() - sources.size();
  for (std::size_t i = 0; i < sources.size(); ++i)
    out += fmt::format("x{} = {}(); ", arrays + i, sources[i]);
  return out + text(program);
}

std::vector<ExplainedStep> steps_of(const Plan& plan) {
  std::vector<ExplainedStep> steps;
  for (const PlanStep& step : plan.steps) {
    ExplainedStep out{std::string(step.row->name), {}, {}, {}};
    for (const PlanRef input : step.inputs) out.inputs.push_back(input.step);
    const Meta& meta = step.outputs.front();
    out.meta = fmt::format("{} {}", name(meta.dtype), text(meta.shape));
    if (const auto* program = step.attributes.find("program"))
      out.detail = program_text(*std::get<std::shared_ptr<const Program>>(*program),
                                source_names(step.attributes));
    else if (step.is_stored())
      out.detail = "executed before";
    else
      out.detail = step.origin.text;
    steps.push_back(std::move(out));
  }
  return steps;
}

std::vector<ExplainedKernel> kernels_of(const ChunkGraph& graph) {
  std::vector<ExplainedKernel> kernels;
  std::map<std::pair<std::uint32_t, const KernelRow*>, std::size_t> numbers;
  for (const Task& task : graph.tasks()) {
    if (task.kernel == nullptr) continue;
    const auto [at, is_new] = numbers.emplace(std::pair(task.source, task.kernel), kernels.size());
    if (is_new)
      kernels.push_back({graph.source(task).operator_name, std::string(task.kernel->name)});
    ExplainedKernel& kernel = kernels[at->second];
    ++kernel.tasks;
    for (const Meta& output : task.outputs)
      if (const Index items = volume(output.shape); items > 0)
        kernel.bytes += static_cast<std::size_t>(items) * item_size(output.dtype);
  }
  return kernels;
}

std::string bytes_text(std::size_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

void append_steps(std::string& out, const std::vector<ExplainedStep>& steps) {
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const ExplainedStep& step = steps[number];
    std::string inputs;
    for (const std::uint32_t input : step.inputs)
      inputs += fmt::format("{}%{}", inputs.empty() ? "" : ", ", input);
    out += fmt::format("  %{} = {}({})  {}{}{}\n", number, step.name, inputs, step.meta,
                       step.detail.empty() ? "" : "  # ", step.detail);
  }
}

}  // namespace

Explanation explain(const std::vector<Tensor>& tensors, const Options& options) {
  Plan plan = make_plan(tensors);
  Explanation out;
  out.logical = steps_of(plan);
  out.passes = optimise(plan, options);
  out.optimised = steps_of(plan);
  ChunkGraph graph;
  try {
    (void)tile_plan(plan, graph, options,
                    [](ChunkGraph&, std::span<const ChunkRef>) { throw WouldRun(); });
  } catch (const WouldRun&) {
    out.waits_for = graph.last_source().operator_name;
  }
  out.kernels = kernels_of(graph);
  return out;
}

std::string text(const Explanation& explanation) {
  std::string out = "Operators:\n";
  append_steps(out, explanation.logical);
  out += "\nPasses:\n";
  for (const PassReport& pass : explanation.passes)
    out +=
        fmt::format("  {:<24} {:>6} × in {:.3f} ms\n", pass.name, pass.fired, pass.seconds * 1e3);
  out += "\nAfter the passes:\n";
  append_steps(out, explanation.optimised);
  out += "\nTasks on chunks:\n";
  for (const ExplainedKernel& kernel : explanation.kernels)
    out += fmt::format("  {:<20} {:<20} {:>8} tasks  {}\n", kernel.operator_name, kernel.kernel,
                       kernel.tasks, bytes_text(kernel.bytes));
  if (!explanation.waits_for.empty())
    out += fmt::format("  … the rest is cut into chunks when the sizes that '{}' needs are known\n",
                       explanation.waits_for);
  return out;
}

}  // namespace muster::engine
