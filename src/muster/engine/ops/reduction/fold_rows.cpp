#include "muster/engine/ops/reduction/fold_rows.h"

#include <algorithm>

#include "muster/engine/ops/reduction/levels.h"

namespace muster::engine {

namespace {

/// How many rows are read at the same time.
constexpr Index kTogether = 4;
/// Rows narrower than this are better folded in other ways.
constexpr Index kShortRow = 128;
/// One long row is seen as rows of this many items. They begin at different places of their pages,
/// so that not all of them come to a new page at once.
constexpr Index kCut = 16'000;
/// Rows from this length on are not summed up from one end to the other: errors would grow.
constexpr Index kLong = kTogether * kCut;

Index item_bytes(const ReduceLoop& loop) { return static_cast<Index>(item_size(loop.items)); }

/// Each row into an accumulator of its own, up to `kTogether` of them.
void fold_each(const std::byte* items, Index count, Index length, Index step,
               const ReduceLoop& loop, std::byte* accumulators) {
  for (Index begin = 0; begin < length; begin += kBlock)
    loop.fold(items + begin * item_bytes(loop), {count, std::min(kBlock, length - begin), 1, step},
              accumulators, begin);
}

/// Rows that are not long, each of which becomes a part.
void fold_parts(const Rows& rows, const ReduceLoop& loop, Levels& levels) {
  Accumulators side(loop, kTogether);
  for (Index row = 0; row < rows.count; row += kTogether) {
    const Index count = std::min(kTogether, rows.count - row);
    side.start(count);
    fold_each(rows.items + row * rows.step, count, rows.length, rows.step, loop, side.at(0));
    for (Index i = 0; i < count; ++i) {
      loop.join(side.at(i), rows.length, levels.next(), 0, 1);
      levels.added(rows.length);
    }
  }
}

/// A long row, which is seen as many.
void fold_long(const std::byte* items, Index length, const ReduceLoop& loop, Levels& levels) {
  const Index step = kCut * item_bytes(loop);
  const Index cuts = length / kCut / kTogether * kTogether;
  fold_parts({items, cuts, kCut, step}, loop, levels);
  if (const Index left = length - cuts * kCut; left > 0)
    fold_parts({items + cuts * step, 1, left, 0}, loop, levels);
}

/// All rows into one accumulator.
void fold_all(const Rows& rows, const ReduceLoop& loop, std::byte* accumulator) {
  Levels levels(loop);
  if (rows.length < kLong && rows.count > 1)
    fold_parts(rows, loop, levels);
  else
    for (Index row = 0; row < rows.count; ++row)
      fold_long(rows.items + row * rows.step, rows.length, loop, levels);
  levels.give(accumulator, 0);
}

/// Each row into its accumulator.
void fold_along(const Rows& rows, const ReduceLoop& loop, std::byte* accumulators) {
  const Index together = rows.length < kLong ? kTogether : 1;
  for (Index row = 0; row < rows.count; row += together) {
    const std::byte* const items = rows.items + row * rows.step;
    std::byte* const into = accumulators + static_cast<std::size_t>(row) * loop.state;
    if (rows.length < kLong)
      fold_each(items, std::min(together, rows.count - row), rows.length, rows.step, loop, into);
    else
      fold_all({items, 1, rows.length, 0}, loop, into);
  }
}

/// In strips of columns whose accumulators stay near.
void fold_across(const Rows& rows, const ReduceLoop& loop, std::byte* accumulators) {
  const Index strip = near_accumulators(loop);
  for (Index begin = 0, width = 0; begin < rows.length; begin += width) {
    const Index left = rows.length - begin;
    width = left == strip + 1 ? left : std::min(strip, left);  // one column alone would be a run
    loop.fold(rows.items + begin * item_bytes(loop), {1, rows.count, width, rows.step},
              accumulators + static_cast<std::size_t>(begin) * loop.state, 0);
  }
}

}  // namespace

bool fold_rows(const Rows& rows, Runs runs, const ReduceLoop& loop, std::byte* accumulators) {
  const bool whole = rows.count == 1;
  const Index length = runs.width > 1 ? runs.width : runs.rows;
  const Index count = runs.width > 1 ? runs.rows : runs.groups;
  if (length < kShortRow || (runs.width > 1 && runs.groups > 1)) return false;
  if (runs.width == 1 && runs.groups == 1) {
    if (rows.length < kShortRow) return false;
    fold_all(rows, loop, accumulators);
    return true;
  }
  if (!whole && (rows.length != length || rows.count != count)) return false;
  const Rows seen = {rows.items, count, length, whole ? length * item_bytes(loop) : rows.step};
  if (runs.width > 1)
    fold_across(seen, loop, accumulators);
  else
    fold_along(seen, loop, accumulators);
  return true;
}

}  // namespace muster::engine
