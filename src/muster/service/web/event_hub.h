#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/clock.h"

namespace muster::service {

/// Hands every line to all who listen. A listener that is slow loses the oldest lines and is told
/// how many. Thread-safe.
class EventHub {
 public:
  class Listening;

  void publish(std::string_view line);
  [[nodiscard]] std::shared_ptr<Listening> listen();
  /// Whoever waits returns.
  void stop();
  [[nodiscard]] std::size_t listeners() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<Listening>> listeners_;  ///< `mutex_` must be held
  bool stopped_ = false;                             ///< likewise
};

/// The lines for one listener. Thread-safe.
class EventHub::Listening {
 public:
  static constexpr std::size_t kMostLines = 10'000;

  /// What has come, oldest first; nothing at the deadline or when the hub has stopped.
  [[nodiscard]] std::vector<std::shared_ptr<const std::string>> take(TimePoint deadline);
  /// Whoever waits in `take` returns.
  void stop();
  [[nodiscard]] bool stopped() const;

 private:
  friend class EventHub;
  void add(std::shared_ptr<const std::string> line);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const std::string>> lines_;
  std::uint64_t lost_ = 0;
  bool stopped_ = false;
};

}  // namespace muster::service
