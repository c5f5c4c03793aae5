#include "muster/runtime/program_path.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace muster {
namespace {

bool runnable(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return runnable(name) ? std::optional(std::string(name)) : std::nullopt;
  }
  const char* const set = std::getenv("PATH");
  std::istringstream folders(set != nullptr ? set : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path path = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (runnable(path)) return path.string();
  }
  return std::nullopt;
}

std::string own_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

}  // namespace muster
