#include "muster/engine/ops/indexing/index_axes.h"

#include <algorithm>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine {

IndexAxes::IndexAxes(const Attributes& attributes, std::size_t ndim)
    : at(static_cast<std::size_t>(attributes.get<std::int64_t>("at"))) {
  const Ints axes = attributes.ints("axes");
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    const bool found = std::find(axes.begin(), axes.end(), static_cast<Index>(axis)) != axes.end();
    (found ? indexed : others).push_back(axis);
  }
  if (indexed.size() != axes.size() || at > others.size())
    wrong_index(fmt::format("[getitem] axes ({}) are not among the {} there are",
                            fmt::join(axes, ", "), ndim));
}

void refuse_index(Index index, Index extent, std::size_t axis) {
  wrong_index(fmt::format("[getitem] index {} is out of bounds for axis {} with size {}", index,
                          axis, extent));
}

}  // namespace muster::engine
