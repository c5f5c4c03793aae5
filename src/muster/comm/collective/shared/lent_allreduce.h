#pragma once

#include <algorithm>
#include <cstring>

#include "muster/base/result.h"
#include "muster/comm/collective/shared/block_map.h"
#include "muster/comm/collective/shared/combine.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Allreduce of large buffers whose ranks can read each other's memory. The buffer is split into n
/// parts, one for each rank. First every rank says where its input and output lie, reads its part
/// of the others' inputs, chunk by chunk, and combines it into its output; then it says that its
/// part is ready, and reads the other parts out of the others' outputs. Works in place: a rank
/// reads only its own part of an input, and that is overwritten by its owner only after the result
/// was said to be ready.
///
/// Of two ranks, each reads as much when it combines the whole of both inputs, and waits for no
/// result. What is read at once they do in this way, because nobody then fetches what another core
/// has just written; but not where one of them works in place, or a user's function is to be called
/// for all of it.
///
/// Steps: 2. Bytes: every rank reads (n - 1)/n · bytes of inputs and as much of results; or, where
/// each of two combines the whole, `bytes` of inputs.
struct LentAllreduce {
  LentAllreduce(Channel& channel, const Call& call)
      : task(channel, call), pact(task), needs_to(task.ranks), sources(task.ranks) {
    const auto ranks = static_cast<std::size_t>(task.ranks);
    const std::size_t bytes = call.count * task.item;
    share = ((bytes + ranks - 1) / ranks + unit() - 1) / unit() * unit();
    whole = bytes;
    pact.open(bytes, Way::lend);
  }

  /// Whole lines of cache, whole items.
  [[nodiscard]] std::size_t unit() const { return std::max<std::size_t>(64, task.item); }

  struct Part {
    std::size_t start;
    std::size_t bytes;
  };
  [[nodiscard]] Part part(int rank) const {
    const std::size_t start = std::min(whole, static_cast<std::size_t>(rank) * share);
    return {start, std::min(share, whole - start)};
  }

  /// Whether each rank combines the whole; known once all have spoken.
  [[nodiscard]] bool is_whole() const {
    return task.ranks == 2 && whole <= kReadBytes && !is_in_place(0) && !is_in_place(1) &&
           task.call.reduction.kind != ReductionKind::user;
  }
  [[nodiscard]] bool is_in_place(int rank) const { return address(rank, 0) == address(rank, 1); }
  /// What this rank combines.
  [[nodiscard]] Part own_part() const { return is_whole() ? Part{0, whole} : part(task.rank); }

  void give(std::size_t step) {
    if (step == 1 && copy != nullptr) copy_result();
    const std::uint64_t addresses[] = {reinterpret_cast<std::uint64_t>(task.call.input),
                                       reinterpret_cast<std::uint64_t>(task.call.output)};
    std::memcpy(task.channel.line(task.first + step).note, addresses, sizeof addresses);
  }
  [[nodiscard]] std::uint64_t address(int rank, std::size_t which) const {
    std::uint64_t addresses[2];
    std::memcpy(addresses, task.channel.line(rank, task.first).note, sizeof addresses);
    return addresses[which];
  }

  [[nodiscard]] int source() const { return lender; }
  Result<void> take(std::size_t step) { return step == 0 ? combine_own() : collect(); }

  Result<void> combine_own() {
    const Part own = own_part();
    const std::size_t at_once = read_at_once(task.ranks, unit());
    // Goes on where it stopped, when others could not be read.
    for (; combined < own.bytes; combined += at_once) {
      const std::size_t bytes = std::min(at_once, own.bytes - combined);
      const std::size_t offset = own.start + combined;
      for (lender = 0; lender < task.ranks; ++lender) {
        if (lender == task.rank) {
          sources[lender] = task.call.input + offset;
          continue;
        }
        std::byte* const into = task.channel.scratch(lender, at_once);
        auto read = task.read(lender, address(lender, 0), offset, {into, bytes});
        if (!read) return read;
        sources[lender] = into;
      }
      combine(task, task.call.output + offset, sources.all(), bytes);
    }
    return {};
  }

  Result<void> collect() {
    if (is_whole()) return {};
    for (int i = 1; i < task.ranks; ++i) {
      lender = (task.rank + i) % task.ranks;
      const Part theirs = part(lender);
      if (theirs.bytes == 0) continue;
      auto read = task.read(lender, address(lender, 1), theirs.start,
                            {task.call.output + theirs.start, theirs.bytes});
      if (!read) return read;
    }
    return {};
  }

  /// For those who cannot read what this rank lends. They read other parts of the input than of the
  /// output, so there is one copy for both.
  void lend_copy() {
    copy = task.channel.copy_room(whole);
    std::memcpy(copy, task.call.input, whole);
    if (combined >= own_part().bytes) copy_result();
    task.channel.lend_copy(task.first);
  }
  void copy_result() const {
    if (is_whole()) return;
    const Part own = part(task.rank);
    std::memcpy(copy + own.start, task.call.output + own.start, own.bytes);
  }

  // The second step is given when the first was taken.
  static constexpr bool waits_to_give = true;

  Task task;
  Pact pact;
  std::size_t share = 0;
  std::size_t whole = 0;
  std::size_t steps = 2;
  bool gives = true;
  bool lends = true;
  int needs_from = 0;
  int needs_to;
  Sources sources;
  int lender = -1;            // being read
  std::size_t combined = 0;   // of the own part
  std::byte* copy = nullptr;  // the channel's, of what is lent
};

}  // namespace muster::comm::collective::shared
