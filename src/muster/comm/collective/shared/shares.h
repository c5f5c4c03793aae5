#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

/// How a rank puts pieces for all others into what it gives at one step: `share` bytes for each, in
/// the order of ranks, without one for itself.
struct Shares {
  Shares(int ranks, std::size_t item, std::size_t largest) {
    const auto others = static_cast<std::size_t>(std::max(1, ranks - 1));
    inlined = others * largest <= kInlineBytes;
    // Whole lines of cache, so that two ranks never read the same one, and whole items.
    const std::size_t unit = std::max<std::size_t>(64, item);
    share = inlined ? largest : std::max(unit, kStepBytes / others / unit * unit);
    steps = inlined ? 1 : std::max<std::size_t>(1, (largest + share - 1) / share);
  }

  [[nodiscard]] std::size_t offset(int giver, int taker) const {
    return static_cast<std::size_t>(taker < giver ? taker : taker - 1) * share;
  }
  /// Of a block, what goes at a step.
  [[nodiscard]] std::size_t piece(std::size_t block, std::size_t step) const {
    return std::min(share, block - std::min(step * share, block));
  }

  /// Puts this rank's pieces of a step where the others find them.
  void give(const Task& task, const BlockMap& blocks, std::size_t step,
            bool past_cache = false) const {
    const std::uint64_t at = task.first + step;
    std::byte* const target =
        inlined ? task.channel.room(at, enclosed(task)) : task.channel.staging(at);
    for (int rank = 0; rank < task.ranks; ++rank) {
      const std::size_t bytes = piece(blocks.bytes(rank), step);
      if (rank == task.rank || bytes == 0) continue;
      std::byte* const into = target + offset(task.rank, rank);
      const std::byte* const from = task.call.input + blocks.start(rank) + step * share;
      if (inlined) {
        copy_few(into, from, bytes);
      } else {
        copy_in(into, from, bytes, blocks.total(), past_cache);
      }
    }
  }
  /// Where another rank put this rank's piece.
  [[nodiscard]] const std::byte* given_by(const Task& task, int rank, std::size_t step) const {
    const std::uint64_t at = task.first + step;
    return (inlined ? task.channel.enclosed(rank, at, enclosed(task))
                    : task.channel.staging(rank, at)) +
           offset(rank, task.rank);
  }

  /// All that a rank gives in its line.
  [[nodiscard]] std::size_t enclosed(const Task& task) const {
    return static_cast<std::size_t>(task.ranks - 1) * share;
  }

  bool inlined;
  std::size_t share;
  std::size_t steps;
};

}  // namespace muster::comm::collective::shared
