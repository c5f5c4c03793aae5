#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "muster/comm/collective/shared/contest.h"
#include "muster/comm/collective/shared/task.h"

namespace muster::comm::collective::shared {

/// For calls that all ranks have to do in the same way. Unless the table settles which, rank 0
/// finds the quickest, and says in its line of the first step how the next call of this kind is
/// done; all others read that line in any case, so they agree.
class Pact {
 public:
  explicit Pact(const Task& task) : task_(task) {}

  /// How a call is done for which all ways are open; the same on all ranks.
  [[nodiscard]] static Way way(const Channel& channel, const Call& call, std::size_t bytes) {
    const std::optional<Way> settled = channel.settled(call.operation, bytes);
    return settled ? *settled : channel.agreed(kind_of(call.operation, bytes));
  }

  void open(std::size_t bytes, Way way) {
    way_ = way;
    open_ = !task_.channel.settled(task_.call.operation, bytes);
    bytes_ = bytes;
    kind_ = kind_of(task_.call.operation, bytes);
    if (open_ && task_.rank == 0) began_ = std::chrono::steady_clock::now();
  }

  /// Puts into rank 0's line of the first step how the next call is done.
  void say() {
    if (!open_ || task_.rank != 0) return;
    const Way next = task_.channel.wish(0, kind_);
    task_.channel.line(task_.first).note[kNextAt] = static_cast<std::byte>(next);
    task_.channel.agree(kind_, next);
  }
  /// The first step was seen.
  void hear() {
    if (!open_ || task_.rank == 0) return;
    task_.channel.agree(kind_, static_cast<Way>(task_.channel.line(0, task_.first).note[kNextAt]));
  }
  /// Whether what is staged goes past the cache.
  [[nodiscard]] bool streams() const { return way_ == Way::stream; }
  void end() {
    if (open_ && task_.rank == 0)
      task_.channel.note(kind_, way_, bytes_, std::chrono::steady_clock::now() - began_);
  }

 private:
  // Operations have up to two words of their own before it.
  static constexpr std::size_t kNextAt = 16;

  const Task& task_;   // of the operation that owns this
  bool open_ = false;  // ranks find out how the next call is done
  Way way_ = Way::stage;
  std::size_t kind_ = 0;
  std::size_t bytes_ = 0;
  TimePoint began_;
};

}  // namespace muster::comm::collective::shared
