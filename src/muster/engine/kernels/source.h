#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "muster/engine/value/shape.h"

namespace muster::engine {

/// Makes the items of a chunk where and when they are needed, in place of an array that holds them:
/// random numbers are as cheap to make as to read from memory. Used by one thread at a time.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// The items `begin` to `begin + count` of the chunk, in C order.
  virtual void fill(Index begin, Index count, std::byte* to) const = 0;
};

using Sources = std::vector<std::unique_ptr<const Source>>;

}  // namespace muster::engine
