#include "muster/engine/storage/spare_files.h"

#include <iterator>
#include <utility>

namespace muster::engine {

bool SpareFiles::add(std::size_t bytes, std::string path) {
  if (files_.size() >= kMost || bytes > kMostBytes - bytes_) return false;
  files_.emplace(bytes, std::move(path));
  bytes_ += bytes;
  return true;
}

std::string SpareFiles::take(std::size_t bytes) {
  const auto larger = files_.lower_bound(bytes);
  if (larger != files_.end() && larger->first / 2 <= bytes) return take(larger);
  // A smaller one grows.
  if (larger != files_.begin()) return take(std::prev(larger));
  return {};
}

std::string SpareFiles::take(std::multimap<std::size_t, std::string>::iterator which) {
  std::string path = std::move(which->second);
  bytes_ -= which->first;
  files_.erase(which);
  return path;
}

std::vector<std::string> SpareFiles::take_all() {
  std::vector<std::string> paths;
  while (!files_.empty()) paths.push_back(take(files_.begin()));
  return paths;
}

}  // namespace muster::engine
