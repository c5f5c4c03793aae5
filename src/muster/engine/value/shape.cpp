#include "muster/engine/value/shape.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "muster/engine/errors.h"

namespace muster::engine {
namespace {

// Too far only where another axis is empty, and then nobody goes there.
void next_step(Index& step, Index extent) {
  static_cast<void>(__builtin_mul_overflow(step, std::max<Index>(extent, 1), &step));
}

}  // namespace

bool is_known(const Shape& shape) {
  return std::none_of(shape.begin(), shape.end(), [](Index extent) { return extent == kUnknown; });
}

Index volume(const Shape& shape) {
  if (!is_known(shape)) return kUnknown;
  Index items = 1;
  for (const Index extent : shape) {
    if (__builtin_mul_overflow(items, extent, &items))
      wrong_value(
          fmt::format("an array of shape {} has more items than can be counted", text(shape)));
  }
  return items;
}

std::string text(const Shape& shape) {
  std::string out = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) out += ", ";
    out += shape[axis] == kUnknown ? "?" : fmt::format("{}", shape[axis]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

Strides c_strides(const Shape& shape, std::size_t item_size) {
  Strides strides(shape.size());
  auto step = static_cast<Index>(item_size);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = step;
    next_step(step, shape[axis]);
  }
  return strides;
}

Strides fortran_strides(const Shape& shape, std::size_t item_size) {
  Strides strides(shape.size());
  auto step = static_cast<Index>(item_size);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = step;
    next_step(step, shape[axis]);
  }
  return strides;
}

Shape broadcast(const std::vector<Shape>& shapes, const std::string& operation) {
  std::size_t ndim = 0;
  for (const Shape& shape : shapes) ndim = std::max(ndim, shape.size());
  Shape out(ndim, 1);
  for (const Shape& shape : shapes) {
    for (std::size_t back = 1; back <= shape.size(); ++back) {
      Index& into = out[ndim - back];
      const Index extent = shape[shape.size() - back];
      if (extent == 1 || extent == into) continue;
      if (into == 1 || into == kUnknown) {
        into = extent;
      } else if (extent != kUnknown) {
        std::vector<std::string> texts;
        for (const Shape& each : shapes) texts.push_back(text(each));
        wrong_value(fmt::format("[{}] shapes do not broadcast together: {}", operation,
                                fmt::join(texts, " and ")));
      }
    }
  }
  return out;
}

int normal_axis(Index axis, std::size_t ndim, const std::string& operation) {
  const auto count = static_cast<Index>(ndim);
  if (axis < -count || axis >= count)
    wrong_index(fmt::format("[{}] axis {} is out of bounds for an array of {} dimension{}",
                            operation, axis, ndim, ndim == 1 ? "" : "s"));
  return static_cast<int>(axis < 0 ? axis + count : axis);
}

std::vector<int> normal_axes(const std::vector<Index>& axes, std::size_t ndim,
                             const std::string& operation) {
  std::vector<int> out;
  for (const Index axis : axes) out.push_back(normal_axis(axis, ndim, operation));
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(out.begin(), out.end()); twice != out.end())
    wrong_value(fmt::format("[{}] axis {} is given twice", operation, *twice));
  return out;
}

Shape shape_of(const Splits& splits) {
  Shape shape;
  for (const auto& extents : splits) {
    const bool known = is_known(extents);
    shape.push_back(known ? std::accumulate(extents.begin(), extents.end(), Index{0}) : kUnknown);
  }
  return shape;
}

Shape grid_of(const Splits& splits) {
  Shape grid;
  for (const auto& extents : splits) grid.push_back(static_cast<Index>(extents.size()));
  return grid;
}

std::size_t chunk_count(const Splits& splits) {
  return static_cast<std::size_t>(volume(grid_of(splits)));
}

std::size_t number_of(const Shape& position, const Shape& grid) {
  std::size_t number = 0;
  for (std::size_t axis = 0; axis < grid.size(); ++axis)
    number =
        number * static_cast<std::size_t>(grid[axis]) + static_cast<std::size_t>(position[axis]);
  return number;
}

Shape extents_at(const Splits& splits, const Shape& position) {
  Shape extents;
  for (std::size_t axis = 0; axis < splits.size(); ++axis)
    extents.push_back(splits[axis][static_cast<std::size_t>(position[axis])]);
  return extents;
}

Shape start_of(const Splits& splits, const Shape& position) {
  Shape start;
  for (std::size_t axis = 0; axis < splits.size(); ++axis)
    start.push_back(
        std::accumulate(splits[axis].begin(), splits[axis].begin() + position[axis], Index{0}));
  return start;
}

}  // namespace muster::engine
