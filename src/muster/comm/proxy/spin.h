#pragma once

#include <algorithm>
#include <thread>

#include "muster/base/clock.h"

namespace muster::comm {

/// How long it pays to watch memory before going to sleep: longer after watching was enough,
/// shorter after it was not, and not at all on one core. Not thread-safe.
class AdaptiveSpin {
 public:
  explicit AdaptiveSpin(Duration longest)
      : longest_(std::thread::hardware_concurrency() > 1 ? longest : Duration::zero()),
        now_(longest_) {}

  [[nodiscard]] Duration duration() const { return now_; }
  void hit() { now_ = std::min(longest_, now_ * 2 + kShortest); }
  void miss() { now_ = std::max(std::min(kShortest, longest_), now_ / 2); }

 private:
  // Watching this long costs a tenth of a wake-up, so trying again is nearly free.
  static constexpr Duration kShortest = std::chrono::microseconds(2);

  Duration longest_;
  Duration now_;
};

}  // namespace muster::comm
