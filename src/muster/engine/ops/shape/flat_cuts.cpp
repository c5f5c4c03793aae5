#include "muster/engine/ops/shape/flat_cuts.h"

#include <algorithm>

#include "muster/base/assert.h"
#include "muster/engine/tile/chunking.h"

namespace muster::engine {

namespace {

Index product(const Shape& shape, std::size_t begin, std::size_t end) {
  Index items = 1;
  for (std::size_t axis = begin; axis < end; ++axis) items *= shape[axis];
  return items;
}

bool all_ones(const std::vector<Index>& extents) {
  return std::all_of(extents.begin(), extents.end(), [](Index extent) { return extent == 1; });
}

/// The pattern that repeats in each row, in steps of `unit`; nothing if there is none.
std::optional<std::vector<Index>> pattern_of(const std::vector<Index>& runs, Index row,
                                             Index unit) {
  std::vector<Index> first;
  std::size_t at = 0;
  bool is_first = true;
  while (at < runs.size()) {
    std::vector<Index> pattern;
    Index sum = 0;
    while (at < runs.size() && (sum < row || (is_first && runs[at] == 0))) {
      if (runs[at] % unit != 0) return std::nullopt;
      sum += runs[at];
      pattern.push_back(runs[at++] / unit);
    }
    if (sum != row || (!is_first && pattern != first)) return std::nullopt;
    if (is_first) first = std::move(pattern);
    is_first = false;
  }
  return first;
}

}  // namespace

std::vector<AxisGroup> group_axes(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup group;
    Index a = 1;
    Index b = 1;
    const auto take_from = [&] { a *= from[i], group.from.push_back(i++); };
    const auto take_to = [&] { b *= to[j], group.to.push_back(j++); };
    if (i < from.size()) take_from();
    if (j < to.size()) take_to();
    while (a != b) {
      MUSTER_ASSERT(a < b ? i < from.size() : j < to.size(), "both shapes have the same volume");
      if (a < b)
        take_from();
      else
        take_to();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<std::vector<Index>> flatten_cuts(const Splits& splits) {
  std::size_t cut = 0;
  while (cut + 1 < splits.size() && all_ones(splits[cut])) ++cut;
  for (std::size_t axis = cut + 1; axis < splits.size(); ++axis)
    if (splits[axis].size() != 1) return std::nullopt;
  if (splits.empty()) return std::vector<Index>{1};
  const Shape shape = shape_of(splits);
  const Index unit = product(shape, cut + 1, shape.size());
  std::vector<Index> runs;
  for (Index row = product(shape, 0, cut); row > 0; --row)
    for (const Index extent : splits[cut]) runs.push_back(extent * unit);
  return runs;
}

Splits choose_flat_cuts(const Shape& shape, Index items) {
  Splits splits(shape.size());
  if (shape.empty()) return splits;
  std::size_t cut = shape.size() - 1;
  Index unit = 1;
  for (; cut > 0 && unit * shape[cut] <= items; --cut) unit *= shape[cut];
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    splits[axis] = axis < cut    ? even_split(shape[axis], 1)
                   : axis == cut ? even_split(shape[axis], std::max<Index>(1, items / unit))
                                 : std::vector<Index>{shape[axis]};
  return splits;
}

std::optional<Splits> unflatten_cuts(const std::vector<Index>& runs, const Shape& shape) {
  if (shape.empty()) return runs == std::vector<Index>{1} ? std::optional(Splits()) : std::nullopt;
  for (std::size_t cut = 0; cut < shape.size(); ++cut) {
    const Index unit = product(shape, cut + 1, shape.size());
    const auto pattern = pattern_of(runs, shape[cut] * unit, unit);
    if (!pattern) continue;
    Splits splits;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      splits.push_back(axis < cut    ? even_split(shape[axis], 1)
                       : axis == cut ? *pattern
                                     : std::vector<Index>{shape[axis]});
    return splits;
  }
  return std::nullopt;
}

}  // namespace muster::engine
