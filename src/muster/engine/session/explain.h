#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "muster/engine/optimise/plan.h"
#include "muster/engine/session/options.h"

namespace muster::engine {

/// One operator of a plan, for people.
struct ExplainedStep {
  std::string name;
  std::vector<std::uint32_t> inputs;  ///< numbers of steps
  std::string meta;                   ///< "float64 (1000, ?)"
  std::string detail;                 ///< the program of a fused chain; where it was made
};

/// The tasks of one kernel.
struct ExplainedKernel {
  std::string operator_name;
  std::string kernel;
  std::size_t tasks = 0;
  std::size_t bytes = 0;  ///< of their results, as far as sizes are known
};

/// How an execution would go.
struct Explanation {
  std::vector<ExplainedStep> logical;
  std::vector<PassReport> passes;
  std::vector<ExplainedStep> optimised;
  std::vector<ExplainedKernel> kernels;
  /// The operator whose sizes must be known before the rest can be cut into chunks; empty if none.
  std::string waits_for;
};

/// Plans, optimises and tiles without running anything.
[[nodiscard]] Explanation explain(const std::vector<Tensor>& tensors, const Options& options);
[[nodiscard]] std::string text(const Explanation& explanation);

}  // namespace muster::engine
