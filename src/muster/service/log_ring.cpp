#include "muster/service/log_ring.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/chrono.h>

namespace muster::service {

void LogRing::add(LogLevel level, std::string_view text) {
  constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warning", "error"};
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  std::string line =
      fmt::format("{:%Y-%m-%d %H:%M:%S} {} {}", now,
                  kLevels.at(std::min<std::size_t>(static_cast<std::size_t>(level), 3)), text);
  log(level, area_, "{}", text);
  const std::scoped_lock lock(mutex_);
  lines_.push_back(std::move(line));
  if (lines_.size() > most_) lines_.pop_front();
}

std::vector<std::string> LogRing::last(std::size_t lines) const {
  const std::scoped_lock lock(mutex_);
  const std::size_t count = std::min(lines, lines_.size());
  return {lines_.end() - static_cast<std::ptrdiff_t>(count), lines_.end()};
}

}  // namespace muster::service
