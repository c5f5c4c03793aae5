#include "muster/service/client/downloads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "muster/service/client/parallel.h"

namespace muster::service {

namespace {

using engine::Array;
using engine::Index;
using engine::Shape;

/// A chunk and what of it is wanted.
struct Piece {
  std::size_t number = 0;
  Shape chunk_extents;
  Shape from;  ///< in the chunk
  Shape to;    ///< in the result
  Shape common;
};

/// For one axis: the chunks that [start, start + extent) touches, with their own begin.
std::vector<std::pair<Index, Index>> touched(const std::vector<Index>& splits, Index start,
                                             Index extent) {
  std::vector<std::pair<Index, Index>> out;
  Index begin = 0;
  for (std::size_t number = 0; number < splits.size(); ++number) {
    if (begin + splits[number] > start && begin < start + extent)
      out.emplace_back(static_cast<Index>(number), begin);
    begin += splits[number];
  }
  return out;
}

std::vector<Piece> pieces_of(const engine::Splits& splits, const Shape& start,
                             const Shape& extents) {
  std::vector<std::vector<std::pair<Index, Index>>> axes;
  Shape counts;
  for (std::size_t axis = 0; axis < splits.size(); ++axis) {
    axes.push_back(touched(splits[axis], start[axis], extents[axis]));
    counts.push_back(static_cast<Index>(axes.back().size()));
  }
  const Shape grid = engine::grid_of(splits);
  std::vector<Piece> pieces;
  engine::for_each_position(counts, [&](const Shape& chosen) {
    Piece piece;
    Shape position(grid.size());
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      const auto [number, begin] = axes[axis][static_cast<std::size_t>(chosen[axis])];
      const Index end = begin + splits[axis][static_cast<std::size_t>(number)];
      const Index first = std::max(start[axis], begin);
      position[axis] = number;
      piece.chunk_extents.push_back(end - begin);
      piece.from.push_back(first - begin);
      piece.to.push_back(first - start[axis]);
      piece.common.push_back(std::min(start[axis] + extents[axis], end) - first);
    }
    piece.number = engine::number_of(position, grid);
    pieces.push_back(std::move(piece));
  });
  return pieces;
}

void fetch_piece(const RemoteStored& stored, const Piece& piece, Array& whole,
                 const std::stop_token& stop) {
  Array place = whole.slice(piece.to, piece.common);
  if (piece.common == piece.chunk_extents && place.is_c_contiguous()) {
    stored.download(piece.number, piece.chunk_extents, {place.mutable_data(), place.nbytes()},
                    stop);
    return;
  }
  Array chunk(stored.connection().memory(), stored.dtype(), piece.chunk_extents);
  stored.download(piece.number, piece.chunk_extents, {chunk.mutable_data(), chunk.nbytes()}, stop);
  engine::copy_items(chunk.slice(piece.from, piece.common), place);
}

}  // namespace

Array download_part(const RemoteStored& stored, const Shape& start, const Shape& extents,
                    std::size_t connections, const std::function<void()>& waiting) {
  Array whole(stored.connection().memory(), stored.dtype(), extents);
  const std::vector<Piece> pieces = pieces_of(stored.splits(), start, extents);
  in_parallel(
      pieces.size(), connections,
      [&](std::size_t number, const std::stop_token& stop) {
        fetch_piece(stored, pieces[number], whole, stop);
      },
      {}, waiting);
  return whole;
}

Array download_all(const RemoteStored& stored, std::size_t connections,
                   const std::function<void()>& waiting) {
  const Shape shape = engine::shape_of(stored.splits());
  return download_part(stored, Shape(shape.size(), 0), shape, connections, waiting);
}

}  // namespace muster::service
