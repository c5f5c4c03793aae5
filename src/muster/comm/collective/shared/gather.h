#pragma once

#include <algorithm>
#include <utility>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Gather and allgather, also with different counts. Every rank gives its block in pieces of a
/// step; the root, or every rank, takes the pieces of all others and puts them where they belong.
/// For gather, ranks other than the root wait for nobody until they are a ring of steps ahead. Or
/// they lend their blocks, see `Loan`.
///
/// Steps: 1 when no block has more than 232 bytes; else ⌈largest block / 32 KiB⌉. Bytes: every rank
/// writes its block once (nothing, if it lies in its arena, or is lent); who takes reads n - 1
/// blocks.
struct Gather {
  /// `blocks` is the output, as all ranks know it. `may_lend` only if they are equal.
  Gather(Channel& channel, const Call& call, BlockMap the_blocks, bool may_lend)
      : task(channel, call),
        loan(task),
        blocks(std::move(the_blocks)),
        own(blocks.bytes(task.rank)) {
    const std::size_t largest = blocks.largest();
    inlined = largest <= kInlineBytes;
    steps = std::max<std::size_t>(1, (largest + kStepBytes - 1) / kStepBytes);
    const bool all = call.operation == collective::Operation::allgather;
    takes = all || task.rank == call.root;
    gives = all || task.rank != call.root;
    needs_to = takes ? task.ranks : 0;
    // In place, the own block lies among the others where it belongs.
    input = takes && call.in_place() ? call.output + blocks.start(task.rank) : call.input;
    if (gives && !inlined && own > 0) {
      const auto offset = channel.segment().arena_offset(input, own);
      direct = offset ? *offset + 1 : 0;
      lends = direct != 0;
    }
    const std::byte* const lendable = gives && direct == 0 ? input : nullptr;
    if (may_lend && loan.open(largest, all ? 0 : call.root, lendable)) lends = true;
  }
  [[nodiscard]] Loan::Block block_of(int rank) const {
    return {0, {task.call.output + blocks.start(rank), blocks.bytes(rank)}};
  }

  [[nodiscard]] bool brief() const { return inlined; }
  [[nodiscard]] std::size_t piece(int block, std::size_t step) const {
    const std::size_t offset = std::min(step * kStepBytes, blocks.bytes(block));
    return std::min(kStepBytes, blocks.bytes(block) - offset);
  }
  void give(std::size_t step) const {
    const std::uint64_t at = task.first + step;
    if (inlined) {
      if (own > 0) std::memcpy(task.channel.line(at).payload, input, own);
      return;
    }
    task.mark(step, direct);
    const std::size_t bytes = piece(task.rank, step);
    if (bytes == 0) return;
    const std::size_t offset = step * kStepBytes;
    const std::byte* const from = input + offset;
    if (direct == 0) copy_in(task.channel.staging(at), from, bytes, blocks.total());
    // For itself, too, while it is in the cache.
    if (takes)
      copy_out(task.call.output + blocks.start(task.rank) + offset, from, bytes, blocks.total());
  }
  /// The own block, unless it is copied along with what others get.
  void begin() const {
    const bool staged = gives && !inlined && !loan.lends();
    if (takes && !staged)
      copy_out(task.call.output + blocks.start(task.rank), input, own, blocks.total());
  }
  void take(std::size_t step) const {
    if (!takes) return;
    const std::size_t offset = step * kStepBytes;
    for (int rank = 0; rank < task.ranks; ++rank) {
      const std::size_t bytes = piece(rank, step);
      if (rank == task.rank || loan.lent_by(rank) || bytes == 0) continue;
      const std::byte* const from =
          inlined ? task.channel.line(rank, task.first).payload : task.given(rank, step, offset);
      copy_out(task.call.output + blocks.start(rank) + offset, from, bytes, blocks.total());
    }
  }

  Task task;
  Loan loan;
  BlockMap blocks;
  std::size_t own;
  const std::byte* input = nullptr;
  std::size_t steps = 1;
  bool inlined = false;
  bool takes = false;
  bool gives = false;
  bool lends = false;
  std::uint64_t direct = 0;
  int needs_from = 0;
  int needs_to = 0;
};

}  // namespace muster::comm::collective::shared
