#pragma once

#include <utility>
#include <vector>

#include "muster/comm/collective/shared/combine.h"
#include "muster/comm/collective/shared/operation.h"
#include "muster/comm/collective/shared/shares.h"

namespace muster::comm::collective::shared {

/// Reduce-scatter, also with different counts. At each step every rank gives a piece for every
/// other rank, and combines its own piece straight out of what the others gave, in the order of
/// ranks.
///
/// Steps: 1 when n - 1 blocks fit into 360 bytes; else ⌈largest block / share⌉, with a share of 32
/// KiB / (n - 1). Bytes: every rank writes n - 1 blocks, reads n - 1 and its own, and writes one.
struct ReduceScatter {
  ReduceScatter(Channel& channel, const Call& call, BlockMap the_blocks)
      : task(channel, call),
        blocks(std::move(the_blocks)),
        shares(task.ranks, task.item, blocks.largest()),
        steps(shares.steps),
        needs_to(task.ranks),
        sources(task.ranks) {}

  void give(std::size_t step) const { shares.give(task, blocks, step, streams); }
  void take(std::size_t step) {
    const std::size_t bytes = shares.piece(blocks.bytes(task.rank), step);
    if (bytes == 0) return;
    for (int rank = 0; rank < task.ranks; ++rank) sources[rank] = given_by(rank, step, bytes);
    combine_given(step, bytes);
  }
  [[nodiscard]] const std::byte* given_by(int rank, std::size_t step, std::size_t bytes) {
    return rank == task.rank ? own_piece(step, bytes) : shares.given_by(task, rank, step);
  }
  void combine_given(std::size_t step, std::size_t bytes) {
    combine(task, task.call.output + step * shares.share, sources.all(), bytes,
            blocks.bytes(task.rank));
  }
  /// In place, a small block before the own one lets what is written run into what is read.
  [[nodiscard]] const std::byte* own_piece(std::size_t step, std::size_t bytes) {
    const std::size_t start = blocks.start(task.rank);
    const std::byte* const piece = task.call.input + start + step * shares.share;
    if (!task.call.in_place() || start == 0 || start >= bytes) return piece;
    aside.assign(piece, piece + bytes);
    return aside.data();
  }

  Task task;
  BlockMap blocks;
  Shares shares;
  std::size_t steps;
  bool gives = true;
  bool lends = false;
  bool streams = false;  // past the cache
  int needs_from = 0;
  int needs_to;
  Sources sources;
  std::vector<std::byte> aside;
};

/// Reduce-scatter of equal blocks, of a size that ranks may lend, see `Loan`.
///
/// Steps: as above; who lends speaks at the first only. Bytes: who lends writes nothing for others;
/// every rank reads n blocks and writes one.
struct LentReduceScatter : ReduceScatter {
  LentReduceScatter(Channel& channel, const Call& call, const BlockMap& the_blocks)
      : ReduceScatter(channel, call, the_blocks), loan(task), lent(task, loan, shares.share) {
    // In place, what others have not read yet would be overwritten.
    const std::span lendable(call.input, call.in_place() ? 0 : blocks.total());
    lends = loan.open(blocks.largest(), 0, lendable);
    streams = loan.streams();
  }
  [[nodiscard]] int source() const { return loan.source(); }

  Result<void> take(std::size_t step) {
    const std::size_t bytes = shares.piece(blocks.bytes(task.rank), step);
    if (bytes == 0) return {};
    auto found = lent.find(sources, step, blocks.start(task.rank), blocks.bytes(task.rank),
                           [&](int rank) { return given_by(rank, step, bytes); });
    if (found) combine_given(step, bytes);
    return found;
  }

  Loan loan;
  LentPieces lent;
};

}  // namespace muster::comm::collective::shared
