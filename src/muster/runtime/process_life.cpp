#include "muster/runtime/process_life.h"

#include <cerrno>
#include <filesystem>
#include <optional>
#include <signal.h>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "muster/runtime/file_text.h"

namespace muster {
namespace {

struct Stat {
  char state = '?';
  std::uint64_t start = 0;
};

std::optional<Stat> stat_of(std::int64_t pid) {
  const std::string text = file_text(fmt::format("/proc/{}/stat", pid));
  // The second field is the program's name in parentheses and may hold anything; the third is the
  // state, the 22nd the start.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  Stat stat;
  rest >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) rest >> skipped;
  rest >> stat.start;
  if (!rest) return std::nullopt;
  return stat;
}

// The first thread of a process may end before the others: it is a zombie then, the process is not.
bool has_other_threads(std::int64_t pid) {
  std::error_code error;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", pid), error);
  int count = 0;
  // It may end under our eyes.
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error))
    ++count;
  return count > 1;
}

}  // namespace

std::uint64_t process_start(std::int64_t pid) {
  const auto stat = stat_of(pid);
  return stat ? stat->start : 0;
}

bool process_is_stopped(std::int64_t pid) {
  const auto stat = stat_of(pid);
  return stat && (stat->state == 'T' || stat->state == 't');
}

bool process_runs(std::int64_t pid, std::uint64_t start) {
  if (pid <= 0) return false;
  if (start == 0) return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
  const auto stat = stat_of(pid);
  if (!stat || stat->start != start) return false;
  const bool ended = stat->state == 'Z' || stat->state == 'X';
  return !ended || has_other_threads(pid);
}

}  // namespace muster
