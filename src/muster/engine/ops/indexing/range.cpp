#include "muster/engine/ops/indexing/range.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine {

Range slice_range(Index start, Index stop, Index step, Index extent) {
  if (step == kOpen) step = 1;
  if (step == 0) wrong_value("[getitem] the step of a slice must not be zero");
  const Index low = step > 0 ? 0 : -1;
  const Index high = step > 0 ? extent : extent - 1;
  const auto bound = [&](Index at) {
    if (at < 0) at = at < -extent ? low : at + extent;
    return std::clamp(at, low, high);
  };
  const Index begin = start == kOpen ? (step > 0 ? low : high) : bound(start);
  const Index end = stop == kOpen ? (step > 0 ? high : low) : bound(stop);
  const Index span = step > 0 ? end - begin : begin - end;
  if (span <= 0) return {0, 1, 0};
  return {begin, step, (span - 1) / (step > 0 ? step : -step) + 1};
}

Range item_range(Index index, Index extent, std::size_t axis, const std::string& operation) {
  if (index < -extent || index >= extent)
    wrong_index(fmt::format("[{}] index {} is out of bounds for axis {} with size {}", operation,
                            index, axis, extent));
  return {index < 0 ? index + extent : index, 1, 1};
}

std::vector<RangePiece> pieces_of(const Range& range, const std::vector<Index>& extents) {
  std::vector<RangePiece> pieces;
  const auto chunks = static_cast<Index>(extents.size());
  Index begin = 0;
  std::vector<Index> begins;
  for (const Index extent : extents) {
    begins.push_back(begin);
    begin += extent;
  }
  Index chunk = std::upper_bound(begins.begin(), begins.end(), range.start) - begins.begin() - 1;
  Index number = 0;
  while (number < range.count && chunk >= 0 && chunk < chunks) {
    const Index at = range.start + number * range.step - begins[static_cast<std::size_t>(chunk)];
    const Index extent = extents[static_cast<std::size_t>(chunk)];
    if (at >= 0 && at < extent) {
      const Index left = range.step > 0 ? (extent - 1 - at) / range.step : at / -range.step;
      const Index count = std::min(range.count - number, left + 1);
      pieces.push_back({chunk, at, count, number});
      number += count;
    }
    chunk += range.step > 0 ? 1 : -1;
  }
  if (pieces.empty()) pieces.push_back({0, 0, 0, 0});
  return pieces;
}

}  // namespace muster::engine
