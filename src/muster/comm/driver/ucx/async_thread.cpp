#include "muster/comm/driver/ucx/async_thread.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace muster::comm {

bool ucx_thread_runs() {
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == "async") return true;
  }
  return static_cast<bool>(ignored);  // who cannot look takes it to be there
}

}  // namespace muster::comm
