#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "muster/base/result.h"
#include "muster/comm/collective/call.h"
#include "muster/comm/collective/shared/channel.h"
#include "muster/comm/collective/shared/copy.h"

namespace muster::comm::collective::shared {

/// What a plan knows about its call.
struct Task {
  [[gnu::always_inline]] Task(Channel& a_channel, const Call& a_call)
      : channel(a_channel),
        call(a_call),
        signature(collective::signature(a_call, a_channel.earlier())),
        rank(a_channel.rank()),
        ranks(a_channel.ranks()),
        item(item_size(a_call.element)),
        first(a_channel.position()) {
    const bool large = !a_call.variable && a_call.count * item >= kFewSlotsFrom;
    a_channel.use_slots(large && !is_rooted(a_call.operation) ? kFewSlots : kSlots);
  }

  /// What `rank` gives at a step: staged, or, when the line says so, where its input lies in its
  /// arena. `offset` is how far into the input this step begins, and `bytes` what it gives.
  [[nodiscard]] const std::byte* given(int from, std::size_t step, std::size_t offset,
                                       std::size_t bytes) const {
    std::uint64_t direct = 0;
    std::memcpy(&direct, channel.line(from, first + step).note, sizeof direct);
    if (direct == 0) [[likely]]
      return channel.staging(from, first + step);
    borrowed = true;
    return channel.segment().arena(from, direct - 1 + offset, bytes);
  }
  /// Marks what this rank says at a step as staged (0), or as lying in its arena.
  void mark(std::size_t step, std::uint64_t direct) const {
    std::memcpy(channel.line(first + step).note, &direct, sizeof direct);
  }
  /// Where the input lies in the arena, plus one; 0 when it does not.
  [[nodiscard]] std::uint64_t direct(std::size_t bytes) const {
    if (call.in_place()) return 0;
    const auto offset = channel.segment().arena_offset(call.input, bytes);
    return offset ? *offset + 1 : 0;
  }

  /// A rank that calls something else, or -1.
  [[nodiscard]] int who_differs() const {
    for (int other = 0; other < ranks; ++other)
      if (other != rank && channel.look(other, first, signature) == Channel::Look::differs)
        return other;
    return -1;
  }

  /// In the address of what is lent: it is an offset in the lender's arena.
  static constexpr std::uint64_t kInArena = std::uint64_t{1} << 63;

  /// Reads a part of what `from` lends at `address`, or of the copy that it lends instead.
  [[nodiscard]] Result<void> read(int from, std::uint64_t address, std::size_t offset,
                                  std::span<std::byte> into) const {
    borrowed = true;
    if ((address & kInArena) != 0) {
      const std::byte* const lent =
          channel.segment().arena(from, (address & ~kInArena) + offset, into.size());
      copy_out(into.data(), lent, into.size(), into.size());
      return {};
    }
    const std::uint64_t copy = channel.copy_by(from, first);
    return channel.segment().read(from, (copy != 0 ? copy : address) + offset, into);
  }

  /// What was borrowed may have been something else: who gives a call up, or sees another do so,
  /// uses its memory again. To be asked after reading, before anybody relies on it.
  [[nodiscard]] bool borrowed_in_vain() const {
    if (!borrowed) [[likely]]
      return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    return channel.segment().is_broken();
  }

  Channel& channel;
  const Call& call;  // outlives the operation
  Signature signature;
  int rank;
  int ranks;
  std::size_t item;
  std::uint64_t first;            // position
  mutable bool borrowed = false;  // something was read where it lies, not out of staging
};

}  // namespace muster::comm::collective::shared
