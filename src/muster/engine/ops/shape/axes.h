#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"

namespace muster::engine {

/// The axes in another order; reversed if none are given.
[[nodiscard]] Tensor transpose(const Tensor& x, const std::vector<Index>& axes = {});
[[nodiscard]] Tensor expand_dims(const Tensor& x, const std::vector<Index>& axes);
/// Without these axes of extent one; without all such if none are given.
[[nodiscard]] Tensor squeeze(const Tensor& x, const std::vector<Index>& axes = {});

/// The axes as listed, -1 for a new one of extent one; those left out have extent one. What the
/// operators above become: views, whatever the chunks.
[[nodiscard]] Tensor with_axes(const Tensor& x, std::vector<Index> axes);

void register_axes(Registry& registry);

}  // namespace muster::engine
