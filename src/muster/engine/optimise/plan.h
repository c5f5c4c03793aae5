#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/graph/tensor.h"

namespace muster::engine {

/// One output of one step of a plan.
struct PlanRef {
  std::uint32_t step = 0;
  std::uint32_t output = 0;
  friend bool operator==(const PlanRef&, const PlanRef&) = default;
  friend auto operator<=>(const PlanRef&, const PlanRef&) = default;
};

/// An operator that will be tiled.
struct PlanStep {
  const OperatorRow* row = nullptr;
  Attributes attributes;
  std::vector<PlanRef> inputs;
  std::vector<Meta> outputs;
  Origin origin;
  /// What is there already; such steps are neither tiled nor optimised away into others.
  std::vector<std::shared_ptr<const Stored>> stored;
  [[nodiscard]] bool is_stored() const { return !stored.empty(); }
};

/// The graph behind the tensors that are to be computed, as passes change it. Steps come after
/// those they read.
struct Plan {
  std::vector<PlanStep> steps;
  std::vector<PlanRef> results;

  [[nodiscard]] const Meta& meta(PlanRef ref) const { return steps[ref.step].outputs[ref.output]; }
};

/// The plan that computes `tensors`, each operator once. What is stored is not computed again.
[[nodiscard]] Plan make_plan(const std::vector<Tensor>& tensors);

/// How many steps read each output, results counting as readers.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> reader_counts(const Plan& plan);

/// Puts every step after those it reads, and takes away what the results do not need.
void put_in_order(Plan& plan);

/// A rewriting of plans that keeps what they compute.
struct Pass {
  std::string_view name;
  std::string_view summary;
  /// Gives how often it fired.
  int (*run)(Plan& plan);
};

/// All passes, in the order in which they run.
[[nodiscard]] const std::vector<Pass>& passes();

/// What a pass did in one run of the optimiser.
struct PassReport {
  std::string_view name;
  int fired = 0;
  double seconds = 0;
};

/// Runs the passes that `options` leaves on.
std::vector<PassReport> optimise(Plan& plan, const struct Options& options);

}  // namespace muster::engine
