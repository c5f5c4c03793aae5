#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// q and r with a = q · r; `mode` is "reduced" or "complete", or "r" for r alone.
[[nodiscard]] std::vector<Tensor> qr(const Tensor& a, const std::string& mode = "reduced");

/// Factors of a tall matrix, cut into rows only: each piece is factored by itself, then what is
/// left of all of them together, and the factors are multiplied.
struct TallQr {
  std::vector<Index> pieces;     ///< rows of each
  std::vector<ChunkRef> leaves;  ///< Q of each; nothing useful without `with_q`
  std::optional<ChunkRef> top;   ///< Q of what is left of the pieces, if there are several
  ChunkRef r;
};
/// `a` has rows enough: at least twice as many as columns, and more than none.
[[nodiscard]] TallQr tall_qr(TileContext& context, const Tiled& a, DType from, DType dtype,
                             bool with_q);
/// Q, or Q times a square matrix.
[[nodiscard]] Tiled tall_q(TileContext& context, const TallQr& tall,
                           std::optional<ChunkRef> times = std::nullopt);

void register_qr(Registry& registry);

}  // namespace muster::engine
