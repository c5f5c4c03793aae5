#include "muster/runtime/host.h"

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/base/random.h"

namespace muster {
namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string namespace_id(const char* path) {
  struct stat status{};
  return ::stat(path, &status) == 0 ? std::to_string(status.st_ino) : std::string("0");
}

}  // namespace

std::string host_id() {
  if (const char* set = std::getenv("MUSTER_HOST_ID"); set != nullptr && *set != '\0') return set;
  return boot_id() + "/" + namespace_id("/proc/self/ns/net");
}

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  name.resize(name.find('\0'));
  return name;
}

std::string process_id() {
  // Drawn once per process: a pid can be used again, and a child must differ from its parent.
  static std::mutex mutex;
  static std::string id;
  static std::uint64_t drawn_in = 0;
  const std::lock_guard lock(mutex);
  if (id.empty() || drawn_in != fork_generation()) {
    id = fmt::format("{:016x}", secure_random_u64());
    drawn_in = fork_generation();
  }
  return id;
}

std::string pid_namespace() { return namespace_id("/proc/self/ns/pid"); }

}  // namespace muster
