#pragma once

#include <utility>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"
#include "muster/comm/collective/shared/shares.h"

namespace muster::comm::collective::shared {

/// All-to-all, also with different counts. At each step every rank gives a piece for every other
/// rank and takes one from each. A step's pieces are given before any of the same step is taken, so
/// it works in place. Or ranks lend their blocks, see `Loan`.
///
/// Steps: 1 when n - 1 blocks fit into 360 bytes; else ⌈largest block / share⌉, with a share of 32
/// KiB / (n - 1). Bytes: every rank writes n - 1 blocks and reads n - 1.
struct AllToAll {
  /// Blocks can be lent only if all are `equal`.
  AllToAll(Channel& channel, const Call& call, BlockMap to, BlockMap from, std::size_t largest,
           bool equal)
      : task(channel, call),
        loan(task),
        outgoing(std::move(to)),
        incoming(std::move(from)),
        shares(task.ranks, task.item, largest),
        steps(shares.steps),
        needs_to(task.ranks) {
    // In place, what others have not read yet would be overwritten.
    const std::span lendable(call.input, call.in_place() ? 0 : outgoing.total());
    if (equal) lends = loan.open(largest, 0, lendable);
  }
  [[nodiscard]] Loan::Block block_of(int rank) const {
    return {outgoing.start(task.rank),
            {task.call.output + incoming.start(rank), incoming.bytes(rank)}};
  }

  /// In place, the blocks of others are written where the own ones lay, so those are given first.
  [[nodiscard]] std::size_t reads_at() const { return task.call.in_place() ? steps - 1 : 0; }
  void give(std::size_t step) const { shares.give(task, outgoing, step, loan.streams()); }
  void take(std::size_t step) const {
    for (int rank = 0; rank < task.ranks; ++rank) {
      const std::size_t bytes = piece(rank, step);
      if (bytes == 0 || loan.lent_by(rank)) continue;
      std::byte* const into = task.call.output + incoming.start(rank) + step * shares.share;
      copy_out(into, source(rank, step), bytes, incoming.total());
    }
  }
  [[nodiscard]] std::size_t piece(int rank, std::size_t step) const {
    // There may be no other steps then.
    if (rank == task.rank && loan.lends()) return step == 0 ? incoming.bytes(rank) : 0;
    return shares.piece(incoming.bytes(rank), step);
  }
  [[nodiscard]] const std::byte* source(int rank, std::size_t step) const {
    if (rank == task.rank) return task.call.input + outgoing.start(rank) + step * shares.share;
    return shares.given_by(task, rank, step);
  }

  Task task;
  Loan loan;
  BlockMap outgoing;
  BlockMap incoming;
  Shares shares;
  std::size_t steps;
  bool gives = true;
  bool lends = false;
  int needs_from = 0;
  int needs_to;
};

}  // namespace muster::comm::collective::shared
