#pragma once

#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// NumPy's einsum with subscripts as text: "ij,jk->ik", "ii", "...i->...".
[[nodiscard]] Tensor einsum(const std::string& subscripts, std::vector<Tensor> inputs);

void register_einsum(Registry& registry);

}  // namespace muster::engine
