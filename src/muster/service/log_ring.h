#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "muster/base/log.h"

namespace muster::service {

/// The last lines of a role, for whoever asks; they also go to the log. Thread-safe.
class LogRing {
 public:
  explicit LogRing(std::string area, std::size_t most = 1000)
      : area_(std::move(area)), most_(most) {}

  template <class... Args>
  void note(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    add(level, fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] std::vector<std::string> last(std::size_t lines) const;

 private:
  void add(LogLevel level, std::string_view text);

  const std::string area_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;
};

}  // namespace muster::service
