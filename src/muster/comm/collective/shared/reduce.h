#pragma once

#include <algorithm>

#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/combine.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Reduce, and allreduce in its plain form. Every rank gives its `bytes` in pieces of a step; the
/// root, or every rank, combines them straight out of what the others gave, in the order of ranks,
/// so that all compute the same bits. For reduce, ranks other than the root wait for nobody until
/// they are a ring of steps ahead.
///
/// Steps: 1 for up to 232 bytes, else ⌈bytes / 32 KiB⌉. Bytes: every rank writes `bytes` (nothing,
/// if they lie in its arena); who takes reads n · bytes and writes `bytes`. With two ranks
/// allreduce cannot do with less; with many, every rank does all the work, see allreduce.h.
struct Reduce {
  Reduce(Channel& channel, const Call& call)
      : task(channel, call),
        bytes(call.count * task.item),
        steps(std::max<std::size_t>(1, (bytes + kStepBytes - 1) / kStepBytes)),
        takes(call.operation == collective::Operation::allreduce || task.rank == call.root),
        gives(call.operation == collective::Operation::allreduce || task.rank != call.root),
        needs_to(takes ? task.ranks : 0),
        sources(takes ? task.ranks : 0) {
    if (gives) direct = task.direct(bytes);
    lends = direct != 0;
  }

  [[nodiscard]] bool brief() const { return bytes <= kInlineBytes; }
  [[nodiscard]] std::size_t piece(std::size_t step) const {
    return std::min(kStepBytes, bytes - step * kStepBytes);
  }
  void give(std::size_t step) const {
    const std::uint64_t at = task.first + step;
    if (bytes <= kInlineBytes) {
      if (bytes > 0) std::memcpy(task.channel.line(at).payload, task.call.input, bytes);
      return;
    }
    task.mark(step, direct);
    if (direct == 0)
      std::memcpy(task.channel.staging(at), task.call.input + step * kStepBytes, piece(step));
  }
  void take(std::size_t step) {
    if (!takes || bytes == 0) return;
    const std::size_t offset = step * kStepBytes;
    for (int rank = 0; rank < task.ranks; ++rank) {
      const std::byte*& source = sources[rank];
      if (rank == task.rank) {
        source = task.call.input + offset;
      } else if (bytes <= kInlineBytes) {
        source = task.channel.line(rank, task.first).payload;
      } else {
        source = task.given(rank, step, offset);
      }
    }
    combine(task, task.call.output + offset, sources.all(), piece(step), bytes);
  }

  Task task;
  std::size_t bytes;
  std::size_t steps;
  bool takes;
  bool gives;
  bool lends = false;
  std::uint64_t direct = 0;
  int needs_from = 0;
  int needs_to;
  Sources sources;
};

}  // namespace muster::comm::collective::shared
