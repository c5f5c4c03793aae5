#include "muster/engine/ops/reduction/fold.h"

#include <algorithm>
#include <memory>

#include "muster/engine/ops/reduction/fold_rows.h"
#include "muster/engine/ops/reduction/levels.h"

namespace muster::engine {

namespace {

/// Rows narrower than this are folded side by side, as if they were longer.
constexpr Index kNarrowRun = 64;

class Folder {
 public:
  Folder(Evaluation& evaluation, const ReduceLoop& loop, bool places)
      : evaluation_(evaluation), loop_(loop), places_(places) {}

  /// The items from `begin`, laid out as `runs`, into accumulators that have `before` items each.
  void fold(Index begin, Runs runs, std::byte* accumulators, Index before) {
    const Index per_group = runs.rows * runs.width;
    if (per_group <= kBlock) return fold_small_groups(begin, runs, accumulators, before);
    for (Index group = 0; group < runs.groups; ++group) {
      std::byte* const out = accumulators + bytes(group * runs.width);
      const Index at = begin + group * per_group;
      if (runs.width > kBlock)
        fold_wide(at, runs.rows, runs.width, out, before);
      else if (runs.width == 1)
        fold_long(at, runs.rows, out, before);
      else if (runs.width < kNarrowRun && !places_)
        fold_narrow(at, runs.rows, runs.width, out, before);
      else
        fold_rows(at, runs.rows, runs.width, out, before);
    }
  }

 private:
  [[nodiscard]] std::size_t bytes(Index accumulators) const {
    return static_cast<std::size_t>(accumulators) * loop_.state;
  }

  void fold_small_groups(Index begin, Runs runs, std::byte* out, Index before) {
    const Index per_group = runs.rows * runs.width;
    const Index step = kBlock / per_group;
    for (Index group = 0; group < runs.groups; group += step) {
      const Index count = std::min(step, runs.groups - group);
      loop_.fold(evaluation_.block(begin + group * per_group, count * per_group),
                 {count, runs.rows, runs.width}, out + bytes(group * runs.width), before);
    }
  }

  /// Whole rows, which the processor fetches ahead; those with too many accumulators to stay near
  /// in strips of columns.
  void fold_wide(Index begin, Index rows, Index width, std::byte* out, Index before) {
    const Index strip = near_accumulators(loop_);
    for (Index first = 0; first < width; first += strip) {
      const Index end = std::min(first + strip, width);
      for (Index row = 0; row < rows; ++row)
        for (Index column = first; column < end; column += kBlock) {
          const Index count = std::min(kBlock, end - column);
          loop_.fold(evaluation_.block(begin + row * width + column, count), {1, 1, count},
                     out + bytes(column), before + row);
        }
    }
  }

  void fold_rows(Index begin, Index rows, Index width, std::byte* out, Index before) {
    const Index step = kBlock / width;
    for (Index row = 0; row < rows; row += step) {
      const Index count = std::min(step, rows - row);
      loop_.fold(evaluation_.block(begin + row * width, count * width), {1, count, width}, out,
                 before + row);
    }
  }

  /// As many rows as fit into a block are taken for one.
  void fold_narrow(Index begin, Index rows, Index width, std::byte* out, Index before) {
    const Index together = kBlock / width;
    const Index rounds = rows / together;
    const Index long_width = together * width;
    Accumulators side(loop_, long_width);
    side.start(long_width);
    for (Index round = 0; round < rounds; ++round)
      loop_.fold(evaluation_.block(begin + round * long_width, long_width), {1, 1, long_width},
                 side.at(0), round);
    for (Index i = 0; i < together; ++i, before += rounds)
      loop_.join(side.at(i * width), rounds, out, before, static_cast<std::size_t>(width));
    const Index done = rounds * together;
    if (done < rows) fold_rows(begin + done * width, rows - done, width, out, before);
  }

  void fold_long(Index begin, Index count, std::byte* out, Index before) {
    Levels levels(loop_);
    for (Index done = 0, piece = 0; done < count; done += piece) {
      piece = evaluation_.next(begin + done, count - done);
      loop_.fold(evaluation_.block(begin + done, piece), {1, piece, 1}, levels.next(),
                 places_ ? before + done : 0);
      levels.added(piece);
    }
    levels.give(out, before);
  }

  Evaluation& evaluation_;
  const ReduceLoop& loop_;
  const bool places_;
};

/// Axes next to each other that are all kept or all reduced are one.
struct Grouped {
  Shape extents;
  std::vector<bool> reduced;
};

Grouped grouped(const Shape& shape, const std::vector<bool>& reduced) {
  Grouped out;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (!out.extents.empty() && out.reduced.back() == reduced[axis]) {
      out.extents.back() *= shape[axis];
    } else {
      out.extents.push_back(shape[axis]);
      out.reduced.push_back(reduced[axis]);
    }
  }
  return out;
}

Index take_last(Grouped& groups, bool reduced) {
  if (groups.extents.empty() || groups.reduced.back() != reduced) return 1;
  const Index extent = groups.extents.back();
  groups.extents.pop_back();
  groups.reduced.pop_back();
  return extent;
}

}  // namespace

void fold_chunk(Evaluation& evaluation, const Shape& shape, const std::vector<bool>& reduced,
                const ReduceLoop& loop, bool places, std::byte* accumulators) {
  if (volume(shape) == 0) return;
  Grouped outer = grouped(shape, reduced);
  Runs runs;
  runs.width = take_last(outer, false);
  runs.rows = take_last(outer, true);
  runs.groups = take_last(outer, false);
  const Index inner = runs.groups * runs.rows * runs.width;

  if (outer.extents.empty() && !places)
    if (const auto rows = evaluation.rows(); rows && fold_rows(*rows, runs, loop, accumulators))
      return;
  Folder folder(evaluation, loop, places);
  Index begin = 0;
  for_each_position(outer.extents, [&](const Shape& position) {
    Index target = 0;
    Index before = 0;
    for (std::size_t group = 0; group < position.size(); ++group) {
      Index& number = outer.reduced[group] ? before : target;
      number = number * outer.extents[group] + position[group];
    }
    folder.fold(
        begin, runs,
        accumulators + static_cast<std::size_t>(target * runs.groups * runs.width) * loop.state,
        before * runs.rows);
    begin += inner;
  });
}

Index short_row(const Shape& shape, const std::vector<bool>& reduced) {
  Grouped outer = grouped(shape, reduced);
  const Index row = take_last(outer, true);
  const bool rest_is_kept =
      std::none_of(outer.reduced.begin(), outer.reduced.end(), [](bool each) { return each; });
  return rest_is_kept && row <= kBlock && volume(shape) > 0 ? row : 0;
}

void reduce_short_rows(Evaluation& evaluation, Index count, Index row, const ReduceLoop& loop,
                       double ddof, std::byte* results) {
  const Index step = kBlock / row;
  Accumulators accumulators(loop, step);
  const bool direct = loop.results == loop.output;
  const Loop cast = cast_loop(loop.results, loop.output);
  const auto side = std::make_unique_for_overwrite<std::byte[]>(
      direct ? 0 : static_cast<std::size_t>(step) * item_size(loop.results));
  const std::byte* const from = side.get();
  for (Index begin = 0; begin < count; begin += step) {
    const Index rows = std::min(step, count - begin);
    const auto items = static_cast<std::size_t>(rows);
    accumulators.start(rows);
    loop.fold(evaluation.block(begin * row, rows * row), {rows, row, 1}, accumulators.at(0), 0);
    loop.finish(accumulators.at(0), row, ddof, direct ? results : side.get(), items);
    if (!direct) cast(&from, results, items);
    results += items * item_size(loop.output);
  }
}

}  // namespace muster::engine
