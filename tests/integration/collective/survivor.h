#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "muster/comm/collective/group.h"

namespace muster::comm {

/// What the processes of a test tell each other about a loss, in memory that they share. Times are
/// of the clock that all processes of a host have in common.
struct LossBoard {
  static constexpr std::size_t kMostRanks = 8;

  std::atomic<std::int64_t> fell{0};  ///< when the victim was about to die or stop
  std::atomic<std::int64_t> noticed[kMostRanks] = {};

  static std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }
  void note_fall() { fell = now(); }
  void note_error(int rank) { noticed[rank] = now(); }
  /// How long it took a rank to notice.
  [[nodiscard]] std::chrono::milliseconds delay(int rank) const {
    return std::chrono::milliseconds((noticed[rank] - fell) / 1'000'000);
  }
};

// What every survivor, a process, checks. What is wrong ends it.

/// The error is a loss and names victims, some of them or all, and later calls fail alike.
void check_loss(Group& group, const Error& error, const std::vector<int>& victims);

/// The others agree, also on a group that has lost ranks, and on the same bits.
void check_agreement(Group& group, const std::vector<int>& victims);

/// Shrinks, checks what is said about it, and lets go of the old group and its memory. `finished`
/// is how many calls with tag 0 this rank has finished.
[[nodiscard]] Group go_on(Group group, const std::vector<int>& victims, std::uint64_t finished);

/// A last call, and no memory of groups is left.
void end_with(Group group);

}  // namespace muster::comm
