#pragma once

#include "muster/engine/graph/operator.h"
#include "muster/engine/tile/tile_context.h"

namespace muster::engine {

/// The type that a factorization of such items is computed in; throws ArrayError (type) for f16 and
/// times, as NumPy does.
[[nodiscard]] DType factor_dtype(DType dtype, const std::string& prefix);

/// Throws ArrayError (linalg) unless the last two axes are there, and of one size if `square`.
void check_matrix(const Meta& meta, bool square, const std::string& prefix);

/// How long pieces of an axis of a factorization should be: a few for each thread, none too small
/// for BLAS.
[[nodiscard]] Index block_length(Index extent, std::size_t threads);
/// The splits with long pieces cut down to `length`.
[[nodiscard]] std::vector<Index> at_most(const std::vector<Index>& extents, Index length);

/// Chunks without items of a matrix that are zero.
[[nodiscard]] ChunkRef emit_zeros(TileContext& context, DType dtype, const Shape& shape);

/// Runs of a chunk that holds whole matrices: the input with its last two axes in one chunk, the
/// axes before cut as they were.
[[nodiscard]] Tiled whole_matrices(TileContext& context, std::size_t input);

/// Calls `f(index)` with the start of each matrix of a stack of this shape.
template <class F>
void for_each_matrix(const Shape& shape, F&& f) {
  const Shape batch(shape.begin(), shape.end() - 2);
  for_each_position(batch, f);
}
/// One matrix of a stack.
[[nodiscard]] Array matrix_at(const Array& stack, const Shape& position);
/// One vector of a stack of vectors.
[[nodiscard]] Array vector_at(const Array& stack, const Shape& position);

}  // namespace muster::engine
