#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muster/engine/kernels/program.h"
#include "muster/engine/kernels/source.h"
#include "muster/engine/value/array.h"

namespace muster::engine {

/// How many items a block has: few enough that a handful of blocks stays in the nearest cache.
inline constexpr Index kBlock = 1024;

/// Items in C order as rows without gaps, each `step` bytes after the one before.
struct Rows {
  const std::byte* items;
  Index count;
  Index length;
  Index step;
};

/// A program at work on arrays that broadcast to one shape, and on sources of that very shape,
/// which are its last inputs. Computes any run of its results, in C order, at most `kBlock` items
/// at a time. One thread at a time.
class Evaluation {
 public:
  /// The program, the arrays and the sources outlive it.
  Evaluation(const Program& program, std::span<const Array> inputs, const Shape& shape,
             std::span<const std::unique_ptr<const Source>> sources = {});

  /// The results as they lie in the only input, where nothing is computed: one long row, or rows
  /// that are all as far apart. Else nothing.
  [[nodiscard]] std::optional<Rows> rows() const;

  /// How many of the `left` items from `begin` on to compute next: blocks end where rows do if
  /// there are gaps between the rows of an input, which need not be copied then.
  [[nodiscard]] Index next(Index begin, Index left) const;

  /// The items `begin` to `begin + count` of the result: either `into` is filled, or (null) they
  /// lie where the pointer says until the next call.
  const std::byte* block(Index begin, Index count, std::byte* into = nullptr);

 private:
  struct Input {
    Array array;  ///< broadcast to the shape
    bool contiguous;
    bool constant;  ///< one item for all
    bool has_rows;  ///< the items along the last axis lie without gaps
  };
  const std::byte* load(std::size_t input, Index begin, Index count);

  const Program& program_;
  Shape shape_;
  Index row_part_ = 0;  ///< rows are computed in parts of this many items; 0 if they have no gaps
  std::vector<Input> inputs_;
  std::span<const std::unique_ptr<const Source>> sources_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<std::byte*>
      slots_;  ///< per value: where its block is kept; null for contiguous inputs
  std::vector<const std::byte*> at_;  ///< per value: where its block is now
};

}  // namespace muster::engine
