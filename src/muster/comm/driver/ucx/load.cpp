#include "muster/comm/driver/ucx/load.h"

#include <dlfcn.h>
#include <filesystem>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm {
namespace {

constexpr const char* kModule = "libmuster_ucx.so";

// Read by libucx while it is loaded, and only then; what the user has set stays.
constexpr std::string_view kWhileLoading[] = {
    "UCX_HANDLE_ERRORS=none",  // no signal handlers
    "UCX_DEBUG_SIGNO=0",       // not for SIGHUP either
    "UCX_MEM_EVENTS=n",        // no patches in the code of mmap and friends
    "UCX_MEMTYPE_CACHE=n",     // which needs those patches
    "UCX_VFS_ENABLE=n",        // no thread and no file system for debugging
    "UCX_LOG_FILE=stderr",     // standard output is the program's
    "UCX_LOG_LEVEL=fatal",     // that peers die is no error
};

/// The environment of this process with these variables added. It lives as long as the process:
/// another thread may have begun to read it.
class LoadingEnvironment {
 public:
  LoadingEnvironment() {
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) variables_.push_back(*one);
    for (const std::string_view variable : kWhileLoading) {
      const std::string name(variable.substr(0, variable.find('=')));
      if (::getenv(name.c_str()) == nullptr) texts_.emplace_back(variable);
    }
    for (std::string& text : texts_) variables_.push_back(text.data());
    variables_.push_back(nullptr);
  }

  [[nodiscard]] char** get() { return variables_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> variables_;
};

/// Not setenv(3), which may free what another thread is reading.
class BorrowedEnvironment {
 public:
  BorrowedEnvironment() : before_(environ) {
    static LoadingEnvironment loading;
    ours_ = environ = loading.get();
  }
  BorrowedEnvironment(const BorrowedEnvironment&) = delete;
  BorrowedEnvironment& operator=(const BorrowedEnvironment&) = delete;
  ~BorrowedEnvironment() {
    if (environ == ours_) environ = before_;
  }

 private:
  char** before_;
  char** ours_;
};

// Next to the program or library that this code is in, as in the build and in the Python package;
// in the library folder of the same installation; else wherever the loader looks.
std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&ucx_built), &self) != 0 &&
      self.dli_fname != nullptr) {
    std::error_code ignored;
    auto folder = std::filesystem::canonical(self.dli_fname, ignored).parent_path();
    if (folder.empty())
      folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    paths.push_back(folder / kModule);
    paths.push_back(folder.parent_path() / MUSTER_LIBRARY_DIR / kModule);
  }
  std::erase_if(paths, [](const std::string& path) { return ::access(path.c_str(), R_OK) != 0; });
  paths.emplace_back(kModule);
  return paths;
}

Result<UcxOpen> load() {
  const BorrowedEnvironment environment;
  std::string why;
  for (const std::string& path : candidates()) {
    // Never unloaded: libucx has threads of its own.
    void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == nullptr) {
      if (why.empty()) why = ::dlerror();
      continue;
    }
    if (void* const open = ::dlsym(module, "muster_ucx_open"))
      return reinterpret_cast<UcxOpen>(open);
    why = fmt::format("{} has no function 'muster_ucx_open'", path);
  }
  return fail(Errc::driver_type,
              fmt::format("unavailable, because its module cannot be loaded ({}): install libucx0, "
                          "and {} next to the program or in the library path",
                          why, kModule));
}

}  // namespace

bool ucx_built() { return true; }

Result<UcxOpen> load_ucx() {
  static const Result<UcxOpen> loaded = load();
  return loaded;
}

}  // namespace muster::comm
