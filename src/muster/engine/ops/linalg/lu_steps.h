#pragma once

#include <vector>

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// A matrix factored column by column; each chunk is a panel of columns with all rows.
///
/// For panel k from the left: its part from the diagonal down is factored with row swaps (one
/// task), then every panel to the right of it has its rows swapped alike, its part of U solved for
/// and the product taken off what is below (one task each, at the same time). Right-hand sides of
/// an equation are panels that are only updated.
class LuColumns {
 public:
  LuColumns(TileContext& context, const Tiled& a, DType from, DType dtype);

  /// Other columns (n rows) after the same steps: P⁻¹ and L⁻¹ applied.
  [[nodiscard]] ChunkRef updated(ChunkRef columns, const Shape& shape);
  /// Row swaps of later panels are applied to `factors`, so that they are rows of P⁻¹ · A.
  [[nodiscard]] std::vector<ChunkRef> settled();

  [[nodiscard]] const std::vector<Index>& widths() const { return widths_; }
  [[nodiscard]] const std::vector<ChunkRef>& factors() const { return factors_; }
  [[nodiscard]] const std::vector<ChunkRef>& swaps() const { return swaps_; }
  /// Where the diagonal part of each panel with swaps begins.
  [[nodiscard]] const Ints& starts() const { return starts_; }

 private:
  TileContext& context_;
  DType dtype_;
  Index rows_;
  std::vector<Index> widths_;
  std::vector<ChunkRef> factors_;
  std::vector<ChunkRef> swaps_;
  Ints starts_;
};

void register_lu_steps(Registry& registry);

}  // namespace muster::engine
