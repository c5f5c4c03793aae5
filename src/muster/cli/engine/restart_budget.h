#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

#include "muster/base/clock.h"

namespace muster::cli {

/// How often a role that dies is started again: a few times a minute, each after a longer pause.
class RestartBudget {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr Duration kWindow = std::chrono::minutes(1);
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);

  /// It died now: when to start it again, or nothing when it dies too often.
  [[nodiscard]] std::optional<TimePoint> died(TimePoint now) {
    while (!deaths_.empty() && deaths_.front() + kWindow <= now) deaths_.pop_front();
    if (deaths_.size() >= kMost) return std::nullopt;
    const Duration pause = kFirstPause * (1 << deaths_.size());
    deaths_.push_back(now);
    return now + pause;
  }

 private:
  std::deque<TimePoint> deaths_;  // of the last minute
};

}  // namespace muster::cli
