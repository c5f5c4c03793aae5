#include "muster/base/log.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

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
  LogSink sink;  // guarded by mutex
  spdlog::logger out{"muster", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  LogState() {
    out.set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
    out.set_level(spdlog::level::trace);
  }
};

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

void log_line(LogLevel level, std::string_view area, std::string_view text) {
  if (!log_enabled(level)) return;
  LogSink sink;
  {
    const std::lock_guard lock(state().mutex);
    sink = state().sink;
  }
  if (sink) return sink(level, area, text);
  state().out.info("{} {}: {}", kLevelNames[static_cast<std::size_t>(level)], area, text);
}

}  // namespace muster
