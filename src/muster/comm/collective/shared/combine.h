#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "muster/comm/collective/reduction.h"
#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// into = sources[0] ∘ sources[1] ∘ …, and divided if it is a mean.
inline void combine(const Task& task, std::byte* into, std::span<const std::byte* const> sources,
                    std::size_t bytes) {
  const Call& call = task.call;
  const std::size_t count = bytes / task.item;
  if (sources.size() == 2) {
    reduce(call.reduction, call.element, into, sources[0], sources[1], count);
  } else {
    reduce(call.reduction, call.element, into, sources, count);
  }
  if (call.reduction.kind == ReductionKind::mean)
    divide(call.element, into, count, static_cast<std::size_t>(task.ranks));
}

/// The same, of a call that writes `whole` bytes in all: if that is much, past the cache, in pieces
/// that stay in the first level of it until they are written.
inline void combine(const Task& task, std::byte* into, std::span<const std::byte* const> sources,
                    std::size_t bytes, std::size_t whole) {
  if (whole < kStreamFrom) return combine(task, into, sources, bytes);
  alignas(64) std::array<std::byte, kPage> piece;
  std::vector<const std::byte*> at(sources.begin(), sources.end());
  for (std::size_t done = 0; done < bytes; done += piece.size()) {
    const std::size_t now = std::min(piece.size(), bytes - done);
    combine(task, piece.data(), at, now);
    copy_ahead<true>(into + done, piece.data(), now, 0);
    for (const std::byte*& source : at) source += now;
  }
}

/// How much is read out of other processes at once: it stays in the second level of cache until it
/// is combined, and a system call for each step would cost as much as the step.
inline constexpr std::size_t kReadBytes = std::size_t{256} << 10;

/// And out of one of them, with so many ranks; a multiple of `unit`.
[[nodiscard]] inline std::size_t read_at_once(int ranks, std::size_t unit) {
  const std::size_t share = kReadBytes / static_cast<std::size_t>(std::max(1, ranks - 1));
  return std::max(unit, share / unit * unit);
}

/// What ranks lend for a reduction, as steps of `share` bytes: several are read at once.
class LentPieces {
 public:
  LentPieces(const Task& task, Loan& loan, std::size_t share)
      : task_(task), loan_(loan), share_(share), at_once_(read_at_once(task.ranks, share)) {}

  /// Finds a step's pieces of all ranks. What a rank lends is a block of so many bytes at `start`
  /// in its input; `given` says where those lie that are not lent.
  template <class Given>
  [[nodiscard]] Result<void> find(Sources& sources, std::size_t step, std::size_t start,
                                  std::size_t block, Given given) {
    for (int rank = 0; rank < task_.ranks; ++rank) {
      if (!loan_.lent_by(rank)) {
        sources[rank] = given(rank);
        continue;
      }
      const auto piece = this->piece(rank, step, start, block);
      if (!piece) return fail(piece.error());
      sources[rank] = *piece;
    }
    return {};
  }

 private:
  [[nodiscard]] Result<const std::byte*> piece(int rank, std::size_t step, std::size_t start,
                                               std::size_t block) {
    const std::size_t at = step * share_;
    const std::size_t within = at % at_once_;
    std::byte* const room = task_.channel.scratch(rank, at_once_);
    if (within == 0) {
      const std::size_t bytes = std::min(at_once_, block - at);
      if (auto read = loan_.read(rank, {start + at, {room, bytes}}); !read)
        return fail(read.error());
    }
    return room + within;
  }

  const Task& task_;  // of the plan that owns this
  Loan& loan_;
  std::size_t share_;
  std::size_t at_once_;
};

}  // namespace muster::comm::collective::shared
