#pragma once

#include <vector>

#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// The inputs with chunks whose sizes are not known yet; for `TileContext::wait_for_sizes`.
[[nodiscard]] inline std::vector<std::size_t> unknown_inputs(const TileContext& context) {
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    if (!context.knows(i)) unknown.push_back(i);
  return unknown;
}

}  // namespace muster::engine
