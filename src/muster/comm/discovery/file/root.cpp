#include "muster/comm/discovery/file/root.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/comm/errc.h"

namespace muster::comm::file {
namespace {

tl::unexpected<Error> refused(const std::filesystem::path& root, const std::string& why) {
  return fail(
      Errc::refused,
      fmt::format(
          "the discovery folder '{}' {}; remove it, or choose another with MUSTER_RUNTIME_DIR",
          root.string(), why));
}

tl::unexpected<Error> failed(const std::filesystem::path& root, int error) {
  return fail(
      Errc::store_unreachable,
      system_error(error, fmt::format("open the discovery folder '{}'", root.string())).message());
}

bool is_own_folder(const char* path) {
  struct stat status{};
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

int make(const std::filesystem::path& root) {
  std::error_code error;
  std::filesystem::create_directories(root.parent_path(), error);
  return ::mkdir(root.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

std::filesystem::path default_root() {
  const char* const set = std::getenv("MUSTER_RUNTIME_DIR");
  if (set != nullptr && *set != '\0') return set;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0' && is_own_folder(runtime))
    return std::filesystem::path(runtime) / "muster";
  return fmt::format("/tmp/muster-{}", ::geteuid());
}

Result<FileDescriptor> open_root(const std::filesystem::path& root) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  FileDescriptor fd(::open(root.c_str(), kFlags));
  if (!fd && errno == ENOENT) {
    if (const int error = make(root); error != 0) return failed(root, error);
    fd = FileDescriptor(::open(root.c_str(), kFlags));
  }
  if (!fd && (errno == ENOTDIR || errno == ELOOP))
    return refused(root, "is a symbolic link or not a folder");
  if (!fd) return failed(root, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return failed(root, errno);
  if (status.st_uid != ::geteuid())
    return refused(root,
                   fmt::format("belongs to user {}, not to us ({})", status.st_uid, ::geteuid()));
  if ((status.st_mode & 077) != 0)
    return refused(
        root, fmt::format("lets other users in (mode {:04o}, not 0700)", status.st_mode & 07777));
  return fd;
}

}  // namespace muster::comm::file
