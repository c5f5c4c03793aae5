#pragma once

#include <algorithm>
#include <utility>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Gather and allgather of equal blocks that fit into a line. Does the same as the other, and
/// computes less: at this size that is what a call costs.
///
/// Steps: 1. Bytes: every rank writes its block once; who takes reads n - 1 blocks.
struct InlineGather {
  static bool fits(const Call& call) {
    return !call.variable && call.count * item_size(call.element) <= kInlineBytes;
  }

  [[gnu::always_inline]] InlineGather(Channel& channel, const Call& call)
      : task(channel, call),
        block(call.count * task.item),
        parcel(channel.pack(block, task.signature)),
        takes(call.operation == collective::Operation::allgather || task.rank == call.root),
        gives(call.operation == collective::Operation::allgather || task.rank != call.root),
        needs_to(takes ? task.ranks : 0) {}

  [[nodiscard]] std::byte* place_of(int rank) const {
    return task.call.output + static_cast<std::size_t>(rank) * block;
  }
  void give() const {
    // In place, the own block lies among the others where it belongs.
    const bool in_place = takes && task.call.in_place();
    copy_few(task.channel.room(parcel), in_place ? place_of(task.rank) : task.call.input, block);
  }
  void begin() const {
    if (takes && !task.call.in_place()) copy_few(place_of(task.rank), task.call.input, block);
  }
  void take() const {
    if (!takes) return;
    for (int rank = 0; rank < task.ranks; ++rank)
      if (rank != task.rank) copy_few(place_of(rank), task.channel.bytes_of(rank, parcel), block);
  }

  Task task;
  std::size_t block;
  Parcel parcel;
  bool takes;
  bool gives;
  int needs_from = 0;
  int needs_to;
};

/// Gather and allgather, also with different counts. Every rank gives its block in pieces of a
/// step; the root, or every rank, takes the pieces of all others and puts them where they belong.
/// For gather, ranks other than the root wait for nobody until they are a ring of steps ahead. Or
/// they lend their blocks, see `Loan`.
///
/// Steps: 1 when no block has more than 360 bytes; else ⌈largest block / 32 KiB⌉. Bytes: every rank
/// writes its block once (nothing, if it lies in its arena, or is lent); who takes reads n - 1
/// blocks.
struct Gather {
  /// `blocks` is the output, as all ranks know it. They can be lent only if they are `equal`.
  Gather(Channel& channel, const Call& call, BlockMap the_blocks, bool equal)
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
    const std::span lendable(input, gives && direct == 0 ? own : 0);
    if (equal && loan.open(largest, all ? 0 : call.root, lendable)) lends = true;
  }
  [[nodiscard]] Loan::Block block_of(int rank) const {
    return {0, {task.call.output + blocks.start(rank), blocks.bytes(rank)}};
  }

  [[nodiscard]] int only_reader() const {
    return is_rooted(task.call.operation) ? task.call.root : -1;
  }
  [[nodiscard]] bool brief() const { return inlined; }
  [[nodiscard]] std::size_t piece(int block, std::size_t step) const {
    const std::size_t offset = std::min(step * kStepBytes, blocks.bytes(block));
    return std::min(kStepBytes, blocks.bytes(block) - offset);
  }
  void give(std::size_t step) const {
    const std::uint64_t at = task.first + step;
    if (inlined) {
      if (own > 0) std::memcpy(task.channel.room(at, own), input, own);
      return;
    }
    task.mark(step, direct);
    const std::size_t bytes = piece(task.rank, step);
    if (bytes == 0) return;
    const std::size_t offset = step * kStepBytes;
    const std::byte* const from = input + offset;
    // For itself, too, while it is at hand.
    const bool keeps = takes && steps > 1;
    std::byte* const own_place = task.call.output + blocks.start(task.rank) + offset;
    if (direct != 0) {
      if (keeps) copy_out(own_place, from, bytes, blocks.total());
    } else if (keeps) {
      copy_in_and_out(task.channel.staging(at), own_place, from, bytes, blocks.total(),
                      loan.streams());
    } else {
      copy_in(task.channel.staging(at), from, bytes, blocks.total(), loan.streams());
    }
  }
  /// The own block, unless it is copied along with what others get.
  void begin() const {
    const bool along = gives && steps > 1 && !loan.lends();
    if (takes && !along)
      copy_out(task.call.output + blocks.start(task.rank), input, own, blocks.total());
  }
  void take(std::size_t step) const {
    if (!takes) return;
    const std::size_t offset = step * kStepBytes;
    for (int rank = 0; rank < task.ranks; ++rank) {
      const std::size_t bytes = piece(rank, step);
      if (rank == task.rank || loan.lent_by(rank) || bytes == 0) continue;
      const std::byte* const from = inlined ? task.channel.enclosed(rank, task.first, bytes)
                                            : task.given(rank, step, offset, bytes);
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
