#pragma once

#include <cstddef>
#include <vector>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// What a plan may cost.
struct RechunkLimits {
  int threshold = 4;                      ///< pieces per chunk of the finer side that do no harm
  std::size_t chunk_bytes = 100'000'000;  ///< of a chunk on the way, unless either side has larger
};

/// The cuts on the way from one tiling to another of the same shape, the last being `to`.
///
/// In one step, every new chunk is made of the pieces that it shares with old ones; for a matrix
/// cut into n rows that becomes one of n columns, these are n * n. Too many small pieces cost more
/// than their items. With s steps the number of chunks along each axis goes from old to new in
/// equal ratios, so the chunks on the way are about as large as those at the ends and the pieces
/// are s * n ^ (1 + 1 / s); each step moves all items once more, though. Pieces that are large by
/// themselves are therefore left as they are.
[[nodiscard]] std::vector<Splits> plan_rechunk(const Splits& from, const Splits& to,
                                               std::size_t item_size, const RechunkLimits& limits);

}  // namespace muster::engine
