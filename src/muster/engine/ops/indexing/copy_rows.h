#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "muster/engine/value/array.h"

namespace muster::engine {

/// Copies one item of 1, 2, 4, 8 or 16 bytes.
inline void copy_item(std::byte* to, const std::byte* from, std::size_t size) {
  switch (size) {
    case 1: *to = *from; return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, 16); return;
  }
}

/// One move of `copy_rows`: where a row is read and where it is written.
struct RowMove {
  const std::byte* from;
  std::byte* to;
};

/// Copies rows, that is sub-arrays of `shape` with these strides on either side. Goes row by row
/// where a row's items lie together, else item by item through all rows.
void copy_rows(std::span<const RowMove> moves, const Shape& shape, const Strides& from,
               const Strides& to, std::size_t item_size);

}  // namespace muster::engine
