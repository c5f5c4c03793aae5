#include "muster/cluster/node/layout.h"

#include <cstdlib>

#include <fmt/format.h>

#include "muster/base/random.h"
#include "muster/cluster/errc.h"

namespace muster::cluster {
namespace {

// sockaddr_un holds 107 characters; the longest socket name comes behind the root.
constexpr std::size_t kLongestRoot = 107 - std::string_view("/redis/socket").size();

}  // namespace

Result<ClusterLayout> ClusterLayout::of_user() {
  const char* const set = std::getenv("MUSTER_HOME");
  const char* const home = std::getenv("HOME");
  std::string folder;
  if (set != nullptr && *set != '\0') {
    folder = set;
  } else if (home != nullptr && *home != '\0') {
    folder = fmt::format("{}/{}", home, kHomeFolder);
  } else {
    return fail(Errc::unavailable, "neither HOME nor MUSTER_HOME is set");
  }
  ClusterLayout layout{.root = folder + "/clusters/process"};
  if (!folder.starts_with('/') || layout.root.size() > kLongestRoot) {
    return fail(Errc::unavailable,
                fmt::format("'{}' cannot hold process mode: set MUSTER_HOME to an absolute path of "
                            "at most {} characters",
                            folder, kLongestRoot - std::string_view("/clusters/process").size()));
  }
  return layout;
}

std::string fresh_id(std::string_view prefix) {
  return fmt::format("{}{:016x}", prefix, secure_random_u64());
}

}  // namespace muster::cluster
