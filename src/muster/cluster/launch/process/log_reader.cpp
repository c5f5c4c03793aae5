#include "muster/cluster/launch/process/log_reader.h"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "muster/cluster/launch/process/output_log.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {
namespace {

constexpr std::string_view kLost =
    "[muster: lines may be missing here: older files of the log are gone]\n";

// A log that is rotated while it is looked at is looked at again.
constexpr int kLooks = 20;

std::string path(const std::string& folder, unsigned age) {
  return folder + "/" + OutputLog::kName + (age == 0 ? "" : "." + std::to_string(age));
}

struct LogFile {
  FileDescriptor file;
  LogFileId id;
  std::uint64_t size = 0;
};

std::optional<LogFile> open_log(const std::string& folder, unsigned age) {
  LogFile log{
      .file = FileDescriptor(::open(path(folder, age).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)),
      .id = {}};
  struct statx status{};
  if (!log.file || ::statx(log.file.get(), "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE | STATX_BTIME,
                           &status) != 0)
    return std::nullopt;
  log.id = {.inode = status.stx_ino,
            .born_seconds = status.stx_btime.tv_sec,
            .born_nanoseconds = status.stx_btime.tv_nsec};
  log.size = status.stx_size;
  return log;
}

// The files of a log, newest first, up to the one that is enough. Opened in this order while the
// log is rotated, one may be met again under its next name, and none is missed: a name that is free
// for a moment is followed by the next.
template <class Enough>
std::vector<LogFile> open_logs(const std::string& folder, const Enough& enough) {
  std::vector<LogFile> logs;
  for (unsigned age = 0, free = 0; free < 2; ++age) {
    auto log = open_log(folder, age);
    free = log ? 0 : free + 1;
    if (!log) continue;
    if (!logs.empty() && logs.back().id == log->id) continue;
    logs.push_back(std::move(*log));
    if (enough(logs.back())) return logs;
  }
  return logs;
}

bool was_rotated(const std::string& folder, const std::vector<LogFile>& since) {
  if (since.empty()) return false;
  const auto newest = open_log(folder, 0);
  return !newest || newest->id != since.front().id;
}

std::string read_from(const LogFile& log, std::uint64_t offset) {
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t count =
        ::pread(log.file.get(), piece, sizeof piece, static_cast<off_t>(offset + text.size()));
    if (count <= 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
  }
}

// Where the last `most` lines of a file begin; the number of lines found is taken off `most`.
std::uint64_t start_of_last(const LogFile& log, std::size_t& most) {
  constexpr std::uint64_t kPiece = 65536;
  std::uint64_t end = log.size;
  std::string piece;
  std::size_t lines = 0;
  while (end > 0) {
    const std::uint64_t begin = end > kPiece ? end - kPiece : 0;
    piece.resize(end - begin);
    if (::pread(log.file.get(), piece.data(), piece.size(), static_cast<off_t>(begin)) !=
        static_cast<ssize_t>(piece.size()))
      break;
    for (std::size_t i = piece.size(); i-- > 0;) {
      const bool last_byte = begin + i + 1 == log.size;
      if (piece[i] != '\n' || last_byte) continue;
      if (++lines == most) {
        most = 0;
        return begin + i + 1;
      }
    }
    end = begin;
  }
  most -= std::min(most, lines + (log.size > 0 ? 1 : 0));
  return 0;
}

}  // namespace

std::vector<std::string> last_log_lines(const std::string& folder, std::size_t most) {
  std::string text;
  std::size_t left = most;
  const auto enough = [&](const LogFile& log) {
    text.insert(0, read_from(log, left > 0 ? start_of_last(log, left) : log.size));
    return left == 0;
  };
  for (int look = 0; look < kLooks; ++look) {
    text.clear();
    left = most;
    if (!was_rotated(folder, open_logs(folder, enough))) break;
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() > most)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

LogFollower::LogFollower(std::string folder, std::size_t most) : folder_(std::move(folder)) {
  // Of the newest file only: following is about what comes.
  const auto log = open_log(folder_, 0);
  if (!log) return;
  begun_ = true;
  id_ = log->id;
  offset_ = most == 0 ? log->size : start_of_last(*log, most);
}

std::string LogFollower::take() {
  const auto is_ours = [&](const LogFile& log) { return begun_ && log.id == id_; };
  std::vector<LogFile> logs;
  for (int look = 0; look < kLooks; ++look) {
    logs = open_logs(folder_, is_ours);
    if (!was_rotated(folder_, logs)) break;
  }
  std::string text;
  for (auto log = logs.rbegin(); log != logs.rend(); ++log) {
    const bool same = is_ours(*log);
    // The file that was being read is gone, and maybe others after it.
    if (begun_ && !same && log == logs.rbegin()) text += kLost;
    const std::string more = read_from(*log, same ? offset_ : 0);
    text += more;
    offset_ = (same ? offset_ : 0) + more.size();
    id_ = log->id;
    begun_ = true;
  }
  return text;
}

}  // namespace muster::cluster
