#include "muster/cluster/launch/process/marked_processes.h"

#include <cctype>
#include <dirent.h>
#include <memory>
#include <poll.h>
#include <signal.h>
#include <string>
#include <unistd.h>

#include "muster/runtime/file_text.h"
#include "muster/runtime/process_life.h"

namespace muster::cluster {
namespace {

struct CloseProcesses {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Each variable follows a null byte.
std::string environment_of(pid_t pid) {
  return std::string(1, '\0') + file_text("/proc/" + std::to_string(pid) + "/environ");
}

}  // namespace

std::vector<pid_t> marked_processes(std::string_view mark) {
  const std::string wanted = std::string(1, '\0').append(mark);
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, CloseProcesses> processes(::opendir("/proc"));
  while (const dirent* const entry = processes ? ::readdir(processes.get()) : nullptr) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const auto pid = static_cast<pid_t>(std::stol(entry->d_name));
    if (pid != ::getpid() && environment_of(pid).find(wanted) != std::string::npos &&
        process_runs(pid, process_start(pid)))
      found.push_back(pid);
  }
  return found;
}

bool kill_marked_processes(std::string_view mark) {
  constexpr int kRounds = 100;
  constexpr int kRoundMilliseconds = 20;
  for (int round = 0; round < kRounds; ++round) {
    const auto processes = marked_processes(mark);
    if (processes.empty()) return true;
    for (const pid_t pid : processes) ::kill(pid, SIGKILL);
    ::poll(nullptr, 0, kRoundMilliseconds);
  }
  return false;
}

}  // namespace muster::cluster
