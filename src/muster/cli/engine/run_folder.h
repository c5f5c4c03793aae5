#pragma once

#include <filesystem>

#include "muster/base/result.h"

namespace muster::cli {

/// A folder that lives as long as this process: for journals and spilled chunks of a cluster on
/// this machine. What killed processes left behind goes when the next one is made.
class RunFolder {
 public:
  [[nodiscard]] static Result<RunFolder> make(const std::filesystem::path& parent);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace muster::cli
