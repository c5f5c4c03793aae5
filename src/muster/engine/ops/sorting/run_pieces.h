#pragma once

#include <span>
#include <vector>

#include "muster/engine/value/array.h"

namespace muster::engine {

/// From one item of a run to another.
struct PieceRange {
  Index begin = 0;
  Index end = 0;
};

/// The pieces of a run, as views of it; begins and ends rise from piece to piece, which may
/// overlap. Where nobody else shares the run, every fourth piece takes the pages that it alone
/// covers with it when it is gone: runs and what is merged of them are not whole at the same time.
/// Not every piece, because the block is kept for another run, whose pages are to be made again
/// then.
[[nodiscard]] std::vector<Array> pieces_of(Array run, std::span<const PieceRange> ranges);

}  // namespace muster::engine
