#pragma once

#include <cstddef>
#include <string>

#include "muster/base/result.h"
#include "muster/runtime/fd.h"

namespace muster::engine {

/// A folder of our own inside a spill directory, gone with the object. A lock file beside it, held
/// with flock(2), says that its owner lives; opening removes the folders of those that do not.
class SpillDirectory {
 public:
  /// Makes the directory if it is missing.
  [[nodiscard]] static Result<SpillDirectory> open(const std::string& directory);
  SpillDirectory(SpillDirectory&&) = default;
  SpillDirectory& operator=(SpillDirectory&&) = delete;
  ~SpillDirectory();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Removes the folder with everything in it.
  void remove();

 private:
  SpillDirectory(std::string directory, std::string folder, FileDescriptor lock);

  std::string directory_;
  std::string folder_;
  FileDescriptor lock_;
};

}  // namespace muster::engine
