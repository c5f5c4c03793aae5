#include "muster/cluster/launch/process/line_prefixer.h"

#include <algorithm>

namespace muster::cluster {

std::string LinePrefixer::take(std::string_view piece) {
  std::string lines;
  while (!piece.empty()) {
    const auto newline = piece.find('\n');
    const std::size_t length = std::min(newline, piece.size());
    begun_.append(piece.substr(0, length));
    piece.remove_prefix(length);
    if (!piece.empty()) piece.remove_prefix(1);
    if (newline != std::string_view::npos || begun_.size() >= kLongestLine) {
      lines.append(prefix_).append(begun_).push_back('\n');
      begun_.clear();
    }
  }
  return lines;
}

std::string LinePrefixer::finish() { return begun_.empty() ? std::string() : take("\n"); }

}  // namespace muster::cluster
