#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/channel.h"

namespace muster::comm::collective::shared {

/// What a plan knows about its call.
struct Task {
  Task(Channel& a_channel, const Call& a_call)
      : channel(a_channel),
        call(a_call),
        signature(collective::signature(a_call)),
        rank(a_channel.rank()),
        ranks(a_channel.ranks()),
        item(item_size(a_call.element)),
        first(a_channel.position()) {
    signature.earlier = a_channel.earlier();
  }

  /// What `rank` gives at a step: staged, or, when the line says so, where its input lies in its
  /// arena. `offset` is how far into the input this step begins.
  [[nodiscard]] const std::byte* given(int from, std::size_t step, std::size_t offset) const {
    std::uint64_t direct = 0;
    std::memcpy(&direct, channel.line(from, first + step).payload, sizeof direct);
    if (direct == 0) [[likely]]
      return channel.staging(from, first + step);
    return channel.segment().arena(from, direct - 1 + offset);
  }
  /// Marks what this rank says at a step as staged (0), or as lying in its arena.
  void mark(std::size_t step, std::uint64_t direct) const {
    std::memcpy(channel.line(first + step).payload, &direct, sizeof direct);
  }
  /// Where the input lies in the arena, plus one; 0 when it does not.
  [[nodiscard]] std::uint64_t direct(std::size_t bytes) const {
    if (bytes <= kInlineBytes || call.in_place()) return 0;
    const auto offset = channel.segment().arena_offset(call.input, bytes);
    return offset ? *offset + 1 : 0;
  }

  Channel& channel;
  const Call& call;  // outlives the operation
  Signature signature;
  int rank;
  int ranks;
  std::size_t item;
  std::uint64_t first;  // position
};

}  // namespace muster::comm::collective::shared
