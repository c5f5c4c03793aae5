#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "muster/engine/kernels/evaluation.h"
#include "muster/engine/kernels/reducer.h"

namespace muster::engine {

/// Accumulators on the side, aligned for whatever they hold.
class Accumulators {
 public:
  Accumulators(const ReduceLoop& loop, Index count)
      : loop_(loop), memory_((static_cast<std::size_t>(count) * loop.state + 15) / 16) {}
  void start(Index count) { loop_.start(at(0), static_cast<std::size_t>(count)); }
  std::byte* at(Index number) {
    return reinterpret_cast<std::byte*>(memory_.data()) +
           static_cast<std::size_t>(number) * loop_.state;
  }

 private:
  struct alignas(16) Sixteen {
    std::array<std::byte, 16> bytes;
  };
  const ReduceLoop& loop_;  ///< a row of a registered reducer
  std::vector<Sixteen> memory_;
};

/// So many accumulators, in whole blocks, stay in a near cache.
[[nodiscard]] inline Index near_accumulators(const ReduceLoop& loop) {
  constexpr std::size_t kNear = 256u << 10;
  return std::max(static_cast<Index>(kNear / loop.state) / kBlock * kBlock, kBlock);
}

/// Joins accumulators of parts in pairs, pairs in pairs and so on, so that rounding errors stay
/// small.
class Levels {
 public:
  explicit Levels(const ReduceLoop& loop) : loop_(loop), levels_(loop, kLevels) {}

  /// An accumulator without items for the next part; `added` says that it has them.
  std::byte* next() {
    // Level n is free when bit n of the number of parts is not set.
    level_ = static_cast<Index>(std::countr_one(parts_));
    loop_.start(levels_.at(level_), 1);
    return levels_.at(level_);
  }

  void added(Index items) {
    items_[static_cast<std::size_t>(level_)] = items;
    ++parts_;
    // The part goes after those below it: all become one there.
    for (Index below = 0; below < level_; ++below) {
      Index& from = items_[static_cast<std::size_t>(level_)];
      Index& into = items_[static_cast<std::size_t>(below)];
      loop_.join(levels_.at(level_), from, levels_.at(below), into, 1);
      from += into;
      into = 0;
      std::copy_n(levels_.at(below), loop_.state, levels_.at(level_));
    }
  }

  /// All of them, after `before` items, into `out`: from the largest, which came first, to the
  /// smallest.
  void give(std::byte* out, Index before) {
    for (Index level = kLevels; level-- > 0;) {
      const Index more = items_[static_cast<std::size_t>(level)];
      if (more == 0) continue;
      loop_.join(levels_.at(level), more, out, before, 1);
      before += more;
    }
  }

 private:
  static constexpr Index kLevels = 56;
  const ReduceLoop& loop_;  ///< a row of a registered reducer
  Accumulators levels_;
  std::array<Index, kLevels> items_{};
  std::uint64_t parts_ = 0;
  Index level_ = 0;
};

}  // namespace muster::engine
