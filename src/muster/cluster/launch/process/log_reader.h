#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace muster::cluster {

/// The last lines of what a component printed in an attempt, through its older files. A line that
/// is not finished counts.
[[nodiscard]] std::vector<std::string> last_log_lines(const std::string& folder, std::size_t most);

/// Which file it is, under whatever name. The number of one that was removed is soon that of
/// another, so when it was born counts too.
struct LogFileId {
  std::uint64_t inode = 0;
  std::int64_t born_seconds = 0;
  std::uint32_t born_nanoseconds = 0;
  friend bool operator==(const LogFileId&, const LogFileId&) = default;
};

/// Reads a log while it is written, through its rotation. Says so where it was written and thrown
/// away faster than it was read. Not thread-safe.
class LogFollower {
 public:
  /// From the beginning, or only the last `most` lines.
  explicit LogFollower(std::string folder) : folder_(std::move(folder)) {}
  LogFollower(std::string folder, std::size_t most);

  /// What has been added since the last call; empty when nothing has.
  [[nodiscard]] std::string take();

 private:
  std::string folder_;
  LogFileId id_;  // of the file that is being read
  std::uint64_t offset_ = 0;
  bool begun_ = false;
};

}  // namespace muster::cluster
