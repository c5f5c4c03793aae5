#include "muster/cluster/launch/process/shim_program.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/runtime/program_path.h"

namespace muster::cluster {

Result<std::string> shim_program() {
  std::filesystem::path path;
  if (const char* const set = std::getenv("MUSTER_SHIM"); set != nullptr && *set != '\0') {
    path = set;
  } else {
    std::error_code ignored;
    path = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "muster-shim";
  }
  if (::access(path.c_str(), X_OK) == 0) return path.string();
  return fail(std::errc::no_such_file_or_directory,
              fmt::format("the program that watches over components is not there: '{}'; "
                          "install it next to muster, or name it with MUSTER_SHIM",
                          path.string()));
}

std::string muster_program() {
  if (const char* const set = std::getenv("MUSTER_PROGRAM"); set != nullptr && *set != '\0')
    return set;
  const std::filesystem::path own = own_program();
  return own.filename() == "muster" ? own.string() : (own.parent_path() / "muster").string();
}

}  // namespace muster::cluster
