#include "muster/runtime/exit_status.h"

#include <string.h>
#include <sys/wait.h>

namespace muster {

ExitStatus ExitStatus::from_wait(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

std::string ExitStatus::description() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  const char* const name = ::sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + (name ? std::string(" (SIG") + name + ")" : "");
}

}  // namespace muster
