#pragma once

#include <algorithm>
#include <utility>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"
#include "muster/comm/collective/shared/shares.h"

namespace muster::comm::collective::shared {

/// Scatter, also with different counts. At each step the root gives a piece for every other rank,
/// and each takes its own. The root waits for nobody until it is a ring of steps ahead. Or it lends
/// its blocks, see `Loan`.
///
/// Steps: 1 when all blocks but the root's own fit into 360 bytes; else ⌈largest block / share⌉,
/// with a share of 32 KiB / (n - 1). Bytes: the root writes n - 1 blocks once, each other rank
/// reads one.
struct Scatter {
  /// `own` is this rank's block in bytes, `blocks` those of the root's input, `largest` the largest
  /// of them, which all ranks know. They can be lent only if they are `equal`.
  Scatter(Channel& channel, const Call& call, BlockMap the_blocks, std::size_t own_bytes,
          std::size_t largest, bool equal)
      : task(channel, call),
        loan(task),
        blocks(std::move(the_blocks)),
        own(own_bytes),
        shares(task.ranks, task.item, largest),
        steps(shares.steps),
        gives(task.rank == call.root) {
    if (!gives) {
      needs_from = call.root;
      needs_to = call.root + 1;
    }
    const std::span lendable(call.input, gives ? blocks.total() : 0);
    if (equal) lends = loan.open(largest, (call.root + 1) % task.ranks, lendable);
  }
  [[nodiscard]] Loan::Block block_of(int /*rank*/) const {
    return {blocks.start(task.rank), {task.call.output, own}};
  }

  [[nodiscard]] bool brief() const { return shares.inlined; }
  void give(std::size_t step) const { shares.give(task, blocks, step, loan.streams()); }
  void take(std::size_t step) const {
    const std::size_t bytes = loan.lends() ? own : shares.piece(own, step);
    if (bytes == 0 || loan.lent_by(task.call.root)) return;
    std::byte* const into = task.call.output + step * shares.share;
    if (gives) {
      if (task.call.in_place()) return;
      const std::size_t start = blocks.start(task.rank);
      copy_out(into, task.call.input + start + step * shares.share, bytes, own);
      return;
    }
    copy_out(into, shares.given_by(task, task.call.root, step), bytes, own);
  }

  Task task;
  Loan loan;
  BlockMap blocks;
  std::size_t own;
  Shares shares;
  std::size_t steps;
  bool gives;
  bool lends = false;
  int needs_from = 0;
  int needs_to = 0;
};

/// Scatter of equal blocks that all fit into the root's line, but for its own. Does the same as the
/// other, and computes less: at this size that is what a call costs.
///
/// Steps: 1. Bytes: the root writes n - 1 blocks once, each other rank reads one.
struct InlineScatter {
  static bool fits(const Call& call, int ranks) {
    return !call.variable &&
           static_cast<std::size_t>(ranks - 1) * call.count * item_size(call.element) <=
               kInlineBytes;
  }

  [[gnu::always_inline]] InlineScatter(Channel& channel, const Call& call)
      : task(channel, call),
        block(call.count * task.item),
        parcel(channel.pack(static_cast<std::size_t>(task.ranks - 1) * block, task.signature)),
        gives(task.rank == call.root) {
    if (gives) return;
    needs_from = call.root;
    needs_to = call.root + 1;
  }

  void give() const {
    std::byte* into = task.channel.room(parcel);
    const std::byte* from = task.call.input;
    for (int rank = 0; rank < task.ranks; ++rank, from += block) {
      if (rank == task.rank) continue;
      copy_few(into, from, block);
      into += block;
    }
  }
  void take() const {
    const Call& call = task.call;
    const auto rank = static_cast<std::size_t>(task.rank);
    if (!gives) {
      const std::size_t before = task.rank < call.root ? rank : rank - 1;
      copy_few(call.output, task.channel.bytes_of(call.root, parcel) + before * block, block);
    } else if (!call.in_place()) {
      copy_few(call.output, call.input + rank * block, block);
    }
  }

  Task task;
  std::size_t block;
  Parcel parcel;
  bool gives;
  int needs_from = 0;
  int needs_to = 0;
};

}  // namespace muster::comm::collective::shared
