#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "muster/base/result.h"
#include "muster/comm/collective/shared/copy.h"
#include "muster/comm/collective/shared/operation.h"

namespace muster::comm::collective::shared {

/// Broadcast, gather and allgather of blocks that fit into the cache, scatter and all-to-all of all
/// but small ones. Every rank that gives says where its input lies; the others read what they need
/// straight out of its process, by a system call, into their output. Who gives waits until all have
/// read.
///
/// Steps: 1. Bytes: every block is copied once, by the rank that takes it.
struct Lent {
  static bool takes(const Call& call) {
    using collective::Operation;
    const std::size_t bytes = call.count * item_size(call.element);
    if (call.variable || bytes < kLendFrom) return false;
    switch (call.operation) {
      case Operation::broadcast: return bytes < kStageBroadcastFrom;
      case Operation::gather: return bytes < kStageGatherFrom;
      case Operation::allgather: return bytes < kStageAllgatherFrom;
      case Operation::scatter:
      case Operation::all_to_all: return true;
      default: return false;
    }
  }

  Lent(Channel& channel, const Call& call)
      : task(channel, call), block(call.count * task.item), operation(call.operation) {
    using collective::Operation;
    const bool root = task.rank == call.root;
    const bool all = !is_rooted(operation);
    gives = all || (root != (operation == Operation::gather));
    lends = gives;
    if (all || (operation == Operation::gather && root)) {
      needs_to = task.ranks;
    } else if (!gives) {
      needs_from = call.root;
      needs_to = call.root + 1;
    }
    input = call.input;
    if (!call.in_place()) return;
    if (operation == Operation::allgather || (operation == Operation::gather && root))
      input = call.output + own() * block;
    // What others have not read yet must not be overwritten.
    if (operation == Operation::all_to_all) {
      aside.assign(call.input, call.input + block * static_cast<std::size_t>(task.ranks));
      input = aside.data();
    }
  }

  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(task.rank); }

  void give(std::size_t /*step*/) const {
    const auto address = reinterpret_cast<std::uint64_t>(input);
    std::memcpy(task.channel.line(task.first).payload, &address, sizeof address);
  }

  Result<bool> take(std::size_t /*step*/) {
    using collective::Operation;
    const bool blocks_in = operation == Operation::scatter || operation == Operation::all_to_all;
    const bool blocks_out = operation == Operation::gather || operation == Operation::allgather ||
                            operation == Operation::all_to_all;
    // Beginning with the next rank, so that not all read from the same one.
    for (int i = 1; i <= task.ranks; ++i) {
      source = (task.rank + i) % task.ranks;
      if (source != task.rank && (source < needs_from || source >= needs_to)) continue;
      const std::size_t from = blocks_in ? own() * block : 0;
      std::byte* const into =
          task.call.output + (blocks_out ? static_cast<std::size_t>(source) * block : 0);
      if (source == task.rank) {
        keep_own(into, from);
        continue;
      }
      std::uint64_t address = 0;
      std::memcpy(&address, task.channel.line(source, task.first).payload, sizeof address);
      auto read = task.channel.segment().read(source, address + from, {into, block});
      if (!read || !*read) return read;
    }
    return true;
  }
  void keep_own(std::byte* into, std::size_t from) const {
    using collective::Operation;
    const bool root = task.rank == task.call.root;
    const bool has_own = !is_rooted(operation) || root;
    const bool stays = task.call.in_place() && operation != Operation::all_to_all;
    if (has_own && !stays) copy_out(into, input + from, block, block);
  }

  Task task;
  std::size_t block;
  collective::Operation operation;
  const std::byte* input = nullptr;
  std::vector<std::byte> aside;
  std::size_t steps = 1;
  bool gives = false;
  bool lends = false;
  int needs_from = 0;
  int needs_to = 0;
  int source = -1;  // being read
};

}  // namespace muster::comm::collective::shared
