#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "muster/base/assert.h"
#include "muster/engine/value/array.h"

namespace muster::engine {

namespace {

template <std::size_t Size>
void copy_run(std::byte* to, Index to_step, const std::byte* from, Index from_step, Index count) {
  for (; count > 0; --count, to += to_step, from += from_step) std::memcpy(to, from, Size);
}

void copy_runs(const Array& from, Array& to) {
  const Walk walk(from.shape(), {to.strides(), from.strides()});
  const auto size = static_cast<Index>(from.item_size());
  const Index to_step = walk.steps()[0];
  const Index from_step = walk.steps()[1];
  walk({to.mutable_data(), const_cast<std::byte*>(from.data())},
       [&](std::byte* const* at, Index count) {
         if (to_step == size && from_step == size) {
           std::memcpy(at[0], at[1], static_cast<std::size_t>(count * size));
           return;
         }
         switch (size) {
           case 1: return copy_run<1>(at[0], to_step, at[1], from_step, count);
           case 2: return copy_run<2>(at[0], to_step, at[1], from_step, count);
           case 4: return copy_run<4>(at[0], to_step, at[1], from_step, count);
           case 8: return copy_run<8>(at[0], to_step, at[1], from_step, count);
           default: return copy_run<16>(at[0], to_step, at[1], from_step, count);
         }
       });
}

/// A matrix whose rows lie together in `from` and whose columns do in `to`.
struct Turned {
  const std::byte* from;
  Index from_step;  ///< from one row to the next
  std::byte* to;
  Index to_step;  ///< from one column to the next
  Index rows;
  Index columns;
};

/// Items of a square that is read and written in whole cache lines, by way of a buffer in
/// registers or the nearest cache.
template <std::size_t Size>
inline constexpr Index kSquare = Size <= 2   ? 16
                                 : Size == 4 ? 16
                                             : 8;
/// Squares are taken in blocks of this many items each way: few enough pages for the processor's
/// table of them.
constexpr Index kTurnBlock = 64;

template <std::size_t Size>
void turn_square(const std::byte* from, Index from_step, std::byte* to, Index to_step) {
  constexpr Index kSide = kSquare<Size>;
  std::array<std::byte, Size * kSide * kSide> buffer;
  for (Index row = 0; row < kSide; ++row)
    std::memcpy(buffer.data() + static_cast<std::size_t>(row * kSide) * Size,
                from + row * from_step, Size * kSide);
  for (Index column = 0; column < kSide; ++column) {
    std::byte* const out = to + column * to_step;
    for (Index row = 0; row < kSide; ++row)
      std::memcpy(out + static_cast<std::size_t>(row) * Size,
                  buffer.data() + static_cast<std::size_t>(row * kSide + column) * Size, Size);
  }
}

template <std::size_t Size>
void turn_block(const Turned& all, Index row, Index rows, Index column, Index columns) {
  constexpr Index kSide = kSquare<Size>;
  constexpr auto kSize = static_cast<Index>(Size);
  for (Index c = column; c < column + columns; c += kSide)
    for (Index r = row; r < row + rows; r += kSide) {
      const std::byte* const from = all.from + r * all.from_step + c * kSize;
      std::byte* const to = all.to + c * all.to_step + r * kSize;
      if (r + kSide <= row + rows && c + kSide <= column + columns) {
        turn_square<Size>(from, all.from_step, to, all.to_step);
        continue;
      }
      for (Index i = 0; i < std::min(kSide, column + columns - c); ++i)
        copy_run<Size>(to + i * all.to_step, kSize, from + i * kSize, all.from_step,
                       std::min(kSide, row + rows - r));
    }
}

template <std::size_t Size>
void turn(const Turned& all) {
  for (Index column = 0; column < all.columns; column += kTurnBlock)
    for (Index row = 0; row < all.rows; row += kTurnBlock)
      turn_block<Size>(all, row, std::min(kTurnBlock, all.rows - row), column,
                       std::min(kTurnBlock, all.columns - column));
}

void turn_any(const Turned& all, std::size_t size) {
  switch (size) {
    case 1: return turn<1>(all);
    case 2: return turn<2>(all);
    case 4: return turn<4>(all);
    case 8: return turn<8>(all);
    default: return turn<16>(all);
  }
}

/// The axis along which the items lie together; `ndim` if there is none, or it is short.
std::size_t dense_axis(const Array& array) {
  constexpr Index kShort = 8;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    if (array.strides()[axis] == static_cast<Index>(array.item_size()) &&
        array.shape()[axis] >= kShort)
      return axis;
  return array.ndim();
}

/// Copies matrix by matrix of the two axes along which the items lie together on either side.
void copy_turned(const Array& from, Array& to, std::size_t from_axis, std::size_t to_axis) {
  Shape others = from.shape();
  others[from_axis] = 1;
  others[to_axis] = 1;
  for_each_position(others, [&](const Shape& position) {
    Index from_offset = 0;
    Index to_offset = 0;
    for (std::size_t axis = 0; axis < others.size(); ++axis) {
      from_offset += position[axis] * from.strides()[axis];
      to_offset += position[axis] * to.strides()[axis];
    }
    turn_any({from.data() + from_offset, from.strides()[to_axis], to.mutable_data() + to_offset,
              to.strides()[from_axis], from.shape()[to_axis], from.shape()[from_axis]},
             from.item_size());
  });
}

}  // namespace

void copy_items(const Array& from, Array& to) {
  MUSTER_ASSERT(from.shape() == to.shape() && from.item_size() == to.item_size(),
                "copies keep their form");
  const std::size_t ndim = from.ndim();
  const std::size_t from_axis = dense_axis(from);
  const std::size_t to_axis = dense_axis(to);
  if (from_axis < ndim && to_axis < ndim && from_axis != to_axis)
    return copy_turned(from, to, from_axis, to_axis);
  // In the order in which the items lie where they are written.
  std::vector<int> order(ndim);
  for (std::size_t axis = 0; axis < ndim; ++axis) order[axis] = static_cast<int>(axis);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const Index left = std::abs(to.strides()[static_cast<std::size_t>(a)]);
    const Index right = std::abs(to.strides()[static_cast<std::size_t>(b)]);
    return left != right ? left > right : a < b;
  });
  Array target = to.transposed(order);
  copy_runs(from.transposed(order), target);
}

}  // namespace muster::engine
