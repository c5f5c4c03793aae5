#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace muster::engine {

/// Files of chunks that are gone, to be written again: where many come and go within seconds, file
/// systems take longer to find a free inode and to give blocks back than to write. Together they
/// are small, because they are room that nobody else has. Decides only: knows no file. Not
/// thread-safe.
class SpareFiles {
 public:
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  /// False if there are enough: then the file should go.
  [[nodiscard]] bool add(std::size_t bytes, std::string path);
  /// One for a chunk of about so many bytes; empty if there is none that is not much too large.
  [[nodiscard]] std::string take(std::size_t bytes);
  /// All of them.
  [[nodiscard]] std::vector<std::string> take_all();

 private:
  std::string take(std::multimap<std::size_t, std::string>::iterator which);

  std::multimap<std::size_t, std::string> files_;  ///< by length
  std::size_t bytes_ = 0;
};

}  // namespace muster::engine
