#include "muster/cluster/launch/process/descendants.h"

#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>

#include "muster/runtime/fd.h"

namespace muster::cluster {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

void add_children(const std::string& path, std::vector<pid_t>& found) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[512];
  while (file) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count <= 0) break;
    text.append(piece, static_cast<std::size_t>(count));
  }
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const long pid = std::strtol(at, &end, 10);
    if (end == at) return;
    found.push_back(static_cast<pid_t>(pid));
  }
}

}  // namespace

std::vector<pid_t> descendants(pid_t process) {
  std::vector<pid_t> found;
  std::vector<pid_t> parents{process};
  while (!parents.empty()) {
    const std::string tasks = "/proc/" + std::to_string(parents.back()) + "/task";
    parents.pop_back();
    const std::unique_ptr<DIR, CloseFolder> folder(::opendir(tasks.c_str()));
    if (!folder) continue;
    const std::size_t before = found.size();
    while (const dirent* const entry = ::readdir(folder.get())) {
      if (entry->d_name[0] == '.') continue;
      add_children(tasks + "/" + entry->d_name + "/children", found);
    }
    parents.insert(parents.end(), found.begin() + static_cast<std::ptrdiff_t>(before), found.end());
  }
  return found;
}

}  // namespace muster::cluster
