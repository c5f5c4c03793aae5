#include "muster/runtime/cgroup_folder.h"

#include <cerrno>
#include <cstdlib>
#include <unistd.h>

#include "muster/runtime/file_text.h"

namespace muster {
bool cgroup_ran_out_of_memory(const std::string& folder) {
  constexpr std::string_view kKey = "oom_kill ";  // the same in both versions
  for (const char* const file : {"/memory.events", "/memory.oom_control"}) {
    const std::string text = file_text(folder + file);
    for (auto at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
      const bool starts_line = at == 0 || text[at - 1] == '\n';
      if (starts_line && std::strtoull(text.c_str() + at + kKey.size(), nullptr, 10) > 0)
        return true;
    }
  }
  return false;
}

std::vector<pid_t> cgroup_processes(const std::string& folder) {
  const std::string text = file_text(folder + "/cgroup.procs");
  std::vector<pid_t> processes;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return processes;
    if (pid > 0) processes.push_back(static_cast<pid_t>(pid));
  }
}

bool remove_cgroup(const std::string& folder) {
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

}  // namespace muster
