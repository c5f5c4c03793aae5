#pragma once

#include <optional>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The sums (products) of the items up to each along an axis, or of all items in C order.
[[nodiscard]] Tensor cumsum(const Tensor& x, std::optional<Index> axis = {});
[[nodiscard]] Tensor cumprod(const Tensor& x, std::optional<Index> axis = {});

/// cumsum, cumprod, nancumsum, nancumprod, and `scan`, which they are made of.
void register_scan(Registry& registry);

}  // namespace muster::engine
