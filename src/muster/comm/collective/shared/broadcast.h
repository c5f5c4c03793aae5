#pragma once

#include <algorithm>

#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Broadcast of what fits into the root's line. The root waits for nobody until it is a ring of
/// steps ahead.
///
/// Steps: 1. Bytes: the root writes `bytes` once, each other rank reads them once.
struct InlineBroadcast {
  static bool fits(const Call& call) {
    return call.count * item_size(call.element) <= kInlineBytes;
  }

  [[gnu::always_inline]] InlineBroadcast(Channel& channel, const Call& call)
      : task(channel, call),
        bytes(call.count * task.item),
        parcel(channel.pack(bytes, task.signature)),
        gives(task.rank == call.root) {
    if (gives) return;
    needs_from = call.root;
    needs_to = call.root + 1;
  }

  void give() const { copy_few(task.channel.room(parcel), task.call.input, bytes); }
  void take() const {
    const Call& call = task.call;
    if (!gives) {
      copy_few(call.output, task.channel.bytes_of(call.root, parcel), bytes);
    } else if (!call.in_place()) {
      copy_few(call.output, call.input, bytes);
    }
  }

  Task task;
  std::size_t bytes;
  Parcel parcel;
  bool gives;
  int needs_from = 0;
  int needs_to = 0;
};

/// Broadcast of more. The root gives its `bytes` in pieces of a step; the others take them. The
/// root waits for nobody until it is a ring of steps ahead. Or it lends them, see `Loan`.
///
/// Steps: ⌈bytes / 32 KiB⌉. Bytes: the root writes `bytes` once (nothing, if they lie in its arena,
/// or are lent), each other rank reads them once.
struct Broadcast {
  Broadcast(Channel& channel, const Call& call)
      : task(channel, call),
        loan(task),
        bytes(call.count * task.item),
        steps((bytes + kStepBytes - 1) / kStepBytes),
        gives(task.rank == call.root) {
    if (gives) {
      direct = task.direct(bytes);
      lends = direct != 0;
    } else {
      needs_from = call.root;
      needs_to = call.root + 1;
    }
    if (loan.open(bytes, (call.root + 1) % task.ranks, lendable())) lends = true;
  }
  [[nodiscard]] std::span<const std::byte> lendable() const {
    return {task.call.input, gives && direct == 0 ? bytes : 0};
  }
  [[nodiscard]] Loan::Block block_of(int /*rank*/) const { return {0, {task.call.output, bytes}}; }

  [[nodiscard]] std::size_t piece(std::size_t step) const {
    return std::min(kStepBytes, bytes - step * kStepBytes);
  }
  void give(std::size_t step) const {
    const std::uint64_t at = task.first + step;
    task.mark(step, direct);
    if (direct == 0)
      copy_in(task.channel.staging(at), task.call.input + step * kStepBytes, piece(step), bytes,
              loan.streams());
  }
  void take(std::size_t step) const {
    const std::size_t offset = step * kStepBytes;
    std::byte* const into = task.call.output + offset;
    if (gives) {
      const std::size_t own = loan.lends() ? bytes : piece(step);
      if (!task.call.in_place()) copy_out(into, task.call.input + offset, own, bytes);
    } else if (!loan.lent_by(task.call.root)) {
      const std::size_t now = piece(step);
      copy_out(into, task.given(task.call.root, step, offset, now), now, bytes);
    }
  }

  Task task;
  Loan loan;
  std::size_t bytes;
  std::size_t steps;
  bool gives;
  bool lends = false;
  std::uint64_t direct = 0;
  int needs_from = 0;
  int needs_to = 0;
};

}  // namespace muster::comm::collective::shared
