#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace muster {

enum class LogLevel : unsigned char { debug, info, warning, error, off };

/// Writes one line. Thread-safe. Goes to stderr as "2026-01-31 12:00:00.123 warning comm: text"
/// unless a sink is set. Lines below the level are not formatted. The level comes from
/// `MUSTER_LOG_LEVEL` (debug, info, warning, error, off; default warning) and may be changed.
void log_line(LogLevel level, std::string_view area, std::string_view text);

[[nodiscard]] bool log_enabled(LogLevel level);
void set_log_level(LogLevel level);

/// Sends lines elsewhere (Python's logging, a test); an empty function restores stderr. The sink
/// may be called from any thread.
using LogSink = std::function<void(LogLevel, std::string_view area, std::string_view text)>;
void set_log_sink(LogSink sink);

/// The last lines that were written here, wherever they went: up to `most`, oldest first. A
/// thousand are kept, so that somebody far away can ask what happened.
[[nodiscard]] std::vector<std::string> recent_log_lines(std::size_t most);

template <class... Args>
void log(LogLevel level, std::string_view area, fmt::format_string<Args...> format,
         Args&&... args) {
  if (log_enabled(level)) log_line(level, area, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace muster
