#pragma once

#include <string>
#include <string_view>

namespace muster::cluster {

/// Puts a prefix before each line of a stream that comes in pieces, and passes on whole lines only,
/// so that the lines of several streams can share a terminal. Not thread-safe.
class LinePrefixer {
 public:
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// A line that is longer comes in several.
  static constexpr std::size_t kLongestLine = 64u << 10;

  /// The lines that are whole with this piece.
  [[nodiscard]] std::string take(std::string_view piece);
  /// What is left at the end, made a whole line.
  [[nodiscard]] std::string finish();

 private:
  std::string prefix_;
  std::string begun_;
};

}  // namespace muster::cluster
