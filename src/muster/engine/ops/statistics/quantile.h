#pragma once

#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/ops/reduction/over.h"

namespace muster::engine {

/// The quantiles `q` (from 0 to 1) along axes, the axis of `q` first. `method` as NumPy names them.
[[nodiscard]] Tensor quantile(const Tensor& x, const std::vector<double>& q, const Over& over = {},
                              const std::string& method = "linear");
[[nodiscard]] Tensor median(const Tensor& x, const Over& over = {});

void register_quantile(Registry& registry);

}  // namespace muster::engine
