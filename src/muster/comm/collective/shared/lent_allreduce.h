#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

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
/// Steps: 2. Bytes: every rank reads (n - 1)/n · bytes of inputs and as much of results.
struct LentAllreduce {
  static bool takes(const Call& call) {
    return call.operation == collective::Operation::allreduce &&
           call.count * item_size(call.element) >= kFrom;
  }

  LentAllreduce(Channel& channel, const Call& call)
      : task(channel, call), needs_to(task.ranks), sources(task.ranks) {
    const auto ranks = static_cast<std::size_t>(task.ranks);
    // Whole lines of cache, whole items.
    const std::size_t unit = std::max<std::size_t>(64, task.item);
    const std::size_t bytes = call.count * task.item;
    share = ((bytes + ranks - 1) / ranks + unit - 1) / unit * unit;
    whole = bytes;
    scratch.resize(kChunk * (ranks - 1));
  }

  struct Part {
    std::size_t start;
    std::size_t bytes;
  };
  [[nodiscard]] Part part(int rank) const {
    const std::size_t start = std::min(whole, static_cast<std::size_t>(rank) * share);
    return {start, std::min(share, whole - start)};
  }

  void give(std::size_t step) const {
    const std::uint64_t addresses[] = {reinterpret_cast<std::uint64_t>(task.call.input),
                                       reinterpret_cast<std::uint64_t>(task.call.output)};
    std::memcpy(task.channel.line(task.first + step).payload, addresses, sizeof addresses);
  }
  [[nodiscard]] std::uint64_t address(int rank, std::size_t which) const {
    std::uint64_t addresses[2];
    std::memcpy(addresses, task.channel.line(rank, task.first).payload, sizeof addresses);
    return addresses[which];
  }

  Result<bool> take(std::size_t step) { return step == 0 ? combine_own() : collect(); }

  Result<bool> combine_own() {
    const Part own = part(task.rank);
    for (std::size_t at = 0; at < own.bytes; at += kChunk) {
      const std::size_t bytes = std::min(kChunk, own.bytes - at);
      const std::size_t offset = own.start + at;
      std::byte* into = scratch.data();
      for (source = 0; source < task.ranks; ++source) {
        if (source == task.rank) {
          sources[source] = task.call.input + offset;
          continue;
        }
        auto read = task.channel.segment().read(source, address(source, 0) + offset, {into, bytes});
        if (!read || !*read) return read;
        sources[source] = into;
        into += kChunk;
      }
      combine(task, task.call.output + offset, sources.all(), bytes, 0);
    }
    return true;
  }

  Result<bool> collect() {
    for (int i = 1; i < task.ranks; ++i) {
      source = (task.rank + i) % task.ranks;
      const Part theirs = part(source);
      if (theirs.bytes == 0) continue;
      auto read = task.channel.segment().read(source, address(source, 1) + theirs.start,
                                              {task.call.output + theirs.start, theirs.bytes});
      if (!read || !*read) return read;
    }
    return true;
  }

  // The second step is given when the first was taken.
  static constexpr bool waits_to_give = true;
  // Below, copying through staging is as fast.
  static constexpr std::size_t kFrom = std::size_t{512} << 10;
  // What is read stays in the second level of cache until it is combined.
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  Task task;
  std::size_t share = 0;
  std::size_t whole = 0;
  std::vector<std::byte> scratch;
  std::size_t steps = 2;
  bool gives = true;
  bool lends = true;
  int needs_from = 0;
  int needs_to;
  Sources sources;
  int source = -1;  // being read
};

}  // namespace muster::comm::collective::shared
