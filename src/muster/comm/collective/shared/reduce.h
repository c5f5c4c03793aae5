#pragma once

#include <algorithm>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/combine.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Reduce and allreduce of what fits into a line. Every rank gives its `bytes`; the root, or every
/// rank, combines them in the order of ranks.
///
/// Steps: 1. Bytes: every rank writes `bytes`; who takes reads n · bytes and writes `bytes`.
struct InlineReduce {
  static bool fits(const Call& call) {
    return call.count * item_size(call.element) <= kInlineBytes;
  }

  [[gnu::always_inline]] InlineReduce(Channel& channel, const Call& call)
      : task(channel, call),
        bytes(call.count * task.item),
        parcel(channel.pack(bytes, task.signature)),
        takes(call.operation == collective::Operation::allreduce || task.rank == call.root),
        gives(call.operation == collective::Operation::allreduce || task.rank != call.root),
        needs_to(takes ? task.ranks : 0) {}

  void give() const { copy_few(task.channel.room(parcel), task.call.input, bytes); }
  void take() const {
    if (!takes || bytes == 0) return;
    Sources sources(task.ranks);
    for (int rank = 0; rank < task.ranks; ++rank)
      sources[rank] = rank == task.rank ? task.call.input : task.channel.bytes_of(rank, parcel);
    combine(task, task.call.output, sources.all(), bytes);
  }

  Task task;
  std::size_t bytes;
  Parcel parcel;
  bool takes;
  bool gives;
  int needs_from = 0;
  int needs_to;
};

/// Reduce of more, and allreduce in its plain form. Every rank gives its `bytes` in pieces of a
/// step; the root, or every rank, combines them straight out of what the others gave, in the order
/// of ranks, so that all compute the same bits. For reduce, ranks other than the root wait for
/// nobody until they are a ring of steps ahead.
///
/// Steps: ⌈bytes / 32 KiB⌉. Bytes: every rank writes `bytes` (nothing, if they lie in its arena);
/// who takes reads n · bytes and writes `bytes`. With two ranks allreduce cannot do with less; with
/// many, every rank does all the work, see allreduce.h.
struct Reduce {
  Reduce(Channel& channel, const Call& call)
      : task(channel, call),
        bytes(call.count * task.item),
        steps((bytes + kStepBytes - 1) / kStepBytes),
        takes(call.operation == collective::Operation::allreduce || task.rank == call.root),
        gives(call.operation == collective::Operation::allreduce || task.rank != call.root),
        needs_to(takes ? task.ranks : 0),
        sources(takes ? task.ranks : 0) {
    if (gives) direct = task.direct(bytes);
    lends = direct != 0;
  }

  [[nodiscard]] int only_reader() const {
    return is_rooted(task.call.operation) ? task.call.root : -1;
  }
  [[nodiscard]] std::size_t piece(std::size_t step) const {
    return std::min(kStepBytes, bytes - step * kStepBytes);
  }
  void give(std::size_t step) const {
    task.mark(step, direct);
    if (direct == 0)
      copy_in(task.channel.staging(task.first + step), task.call.input + step * kStepBytes,
              piece(step), bytes, streams);
  }
  void take(std::size_t step) {
    if (!takes) return;
    for (int rank = 0; rank < task.ranks; ++rank) sources[rank] = given_by(rank, step);
    combine_given(step);
  }
  [[nodiscard]] const std::byte* given_by(int rank, std::size_t step) const {
    const std::size_t offset = step * kStepBytes;
    if (rank == task.rank) return task.call.input + offset;
    return task.given(rank, step, offset, piece(step));
  }
  void combine_given(std::size_t step) {
    combine(task, task.call.output + step * kStepBytes, sources.all(), piece(step), bytes);
  }

  Task task;
  std::size_t bytes;
  std::size_t steps;
  bool takes;
  bool gives;
  bool lends = false;
  bool streams = false;  // past the cache
  std::uint64_t direct = 0;
  int needs_from = 0;
  int needs_to;
  Sources sources;
};

/// Reduce, of a size that ranks may lend to the root, see `Loan`: it reads several pieces of a step
/// at once, and combines them step by step.
///
/// Steps: ⌈bytes / 32 KiB⌉; who lends takes part in the first. Bytes: who lends writes nothing; the
/// root reads n · bytes and writes `bytes`.
struct LentReduce : Reduce {
  LentReduce(Channel& channel, const Call& call)
      : Reduce(channel, call), loan(task), lent(task, loan, kStepBytes) {
    const std::span lendable(call.input, gives && direct == 0 ? bytes : 0);
    if (loan.open(bytes, call.root, lendable)) lends = true;
    streams = loan.streams();
  }
  [[nodiscard]] int source() const { return loan.source(); }

  Result<void> take(std::size_t step) {
    if (!takes) return {};
    auto found = lent.find(sources, step, 0, bytes, [&](int rank) { return given_by(rank, step); });
    if (found) combine_given(step);
    return found;
  }

  Loan loan;
  LentPieces lent;
};

/// Allreduce in its plain form, of a size that could be lent, too; see lent_allreduce.h. Steps and
/// bytes are those of `Reduce`.
struct LargeReduce : Reduce {
  LargeReduce(Channel& channel, const Call& call, Way way) : Reduce(channel, call), pact(task) {
    pact.open(bytes, way);
    streams = pact.streams();
  }

  Pact pact;
};

}  // namespace muster::comm::collective::shared
