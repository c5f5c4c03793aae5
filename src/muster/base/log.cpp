#include "muster/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/chrono.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace muster {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "off"};

LogLevel level_from_environment() {
  const char* text = std::getenv("MUSTER_LOG_LEVEL");
  if (text == nullptr) return LogLevel::warning;
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == text) return static_cast<LogLevel>(i);
  }
  std::fprintf(stderr,
               "muster: MUSTER_LOG_LEVEL is '%s', not one of debug, info, warning, error, off; "
               "using warning\n",
               text);
  return LogLevel::warning;
}

// The one process-wide state of the library: where its log lines go.
struct LogState {
  std::atomic<LogLevel> level{level_from_environment()};
  std::mutex mutex;
  LogSink sink;                    // guarded by mutex
  std::deque<std::string> recent;  // likewise
  spdlog::logger out{"muster", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  LogState() {
    out.set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
    out.set_level(spdlog::level::trace);
  }
};

constexpr std::size_t kRecentLines = 1000;
constexpr std::size_t kLongestRecent = 4096;

std::string stamped(LogLevel level, std::string_view area, std::string_view text) {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} {} {}: {}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(now)), milliseconds,
                     kLevelNames[static_cast<std::size_t>(level)], area,
                     text.substr(0, kLongestRecent));
}

LogState& state() {
  static LogState* const instance =
      new LogState;  // never destroyed: threads may log while the process exits
  return *instance;
}

}  // namespace

bool log_enabled(LogLevel level) {
  return level >= state().level.load(std::memory_order_relaxed) && level != LogLevel::off;
}

void set_log_level(LogLevel level) { state().level.store(level, std::memory_order_relaxed); }

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
}

std::vector<std::string> recent_log_lines(std::size_t most) {
  const std::lock_guard lock(state().mutex);
  const auto& lines = state().recent;
  const std::size_t count = std::min(most, lines.size());
  return {lines.end() - static_cast<std::ptrdiff_t>(count), lines.end()};
}

void log_line(LogLevel level, std::string_view area, std::string_view text) {
  if (!log_enabled(level)) return;
  LogSink sink;
  {
    std::string line = stamped(level, area, text);
    const std::lock_guard lock(state().mutex);
    sink = state().sink;
    state().recent.push_back(std::move(line));
    if (state().recent.size() > kRecentLines) state().recent.pop_front();
  }
  if (sink) return sink(level, area, text);
  state().out.info("{} {}: {}", kLevelNames[static_cast<std::size_t>(level)], area, text);
}

}  // namespace muster
