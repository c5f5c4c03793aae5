#pragma once

#include <cstdint>
#include <string_view>

#include "muster/base/clock.h"
#include "muster/base/log.h"

namespace muster::comm {

/// Writes warnings about what others send, at most a few per second, so that a flood of garbage
/// does not become a flood of lines. Not thread-safe.
class Complaints {
 public:
  void warn(TimePoint now, std::string_view what) {
    if (now >= begin_ + std::chrono::seconds(1) || begin_ == TimePoint{}) {
      begin_ = now;
      written_ = 0;
    }
    if (written_ == kPerSecond) {
      ++suppressed_;
      return;
    }
    ++written_;
    if (suppressed_ != 0)
      log(LogLevel::warning, "comm", "{} complaints like the next were not logged", suppressed_);
    log(LogLevel::warning, "comm", "{}", what);
    suppressed_ = 0;
  }

 private:
  static constexpr unsigned kPerSecond = 5;

  TimePoint begin_;
  unsigned written_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace muster::comm
