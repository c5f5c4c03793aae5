#include "muster/cli/doctor/system.h"

#include <optional>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/cluster/job/quantity.h"
#include "muster/runtime/cgroup.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;
using cluster::size_text;

// Two rings of a busy pair and a large message; less makes /dev/shm the first thing to run out.
constexpr std::uint64_t kLeastShared = 64u << 20;
constexpr std::uint64_t kLeastDisk = 1u << 30;
constexpr rlim_t kLeastFiles = 4096;
constexpr int kMaxDepth = 3;
constexpr int kMaxEntries = 10'000;

std::uint64_t free_bytes(const fs::path& folder) {
  struct statvfs state{};
  if (::statvfs(folder.c_str(), &state) != 0) return 0;
  return state.f_bavail * state.f_frsize;
}

/// Whether others may read a file, or look into a folder.
bool open_to_others(const fs::path& path) {
  struct stat state{};
  if (::lstat(path.c_str(), &state) != 0) return false;
  const mode_t needed = S_ISDIR(state.st_mode) ? 011 : 044;
  return !S_ISLNK(state.st_mode) && (state.st_mode & needed) != 0;
}

/// A file that others can get at; nothing if there is none. What is in a closed folder is safe.
std::optional<fs::path> readable_file(const fs::path& folder) {
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(
      folder, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && entry != fs::recursive_directory_iterator() && seen < kMaxEntries;
       entry.increment(error), ++seen) {
    const bool open = open_to_others(entry->path());
    if (!open || entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    if (open && entry->is_regular_file(error)) return entry->path();
  }
  return std::nullopt;
}

}  // namespace

Check check_cgroups() {
  const CgroupTree tree = CgroupTree::detect();
  if (tree.why_not().empty()) return good("cgroups", "limits of cpu and memory are enforced");
  return warning("cgroups", tree.why_not(),
                 "run as root, or in a session that systemd delegates: "
                 "systemd-run --user --scope -p Delegate=yes muster process create");
}

Check check_shared_memory(const fs::path& folder) {
  const std::string name = folder.string();
  if (::access(folder.c_str(), W_OK) != 0) {
    return bad(name, "is missing or not writable: peers of one host cannot share memory",
               "mount -t tmpfs -o size=1g tmpfs " + name);
  }
  const std::uint64_t room = free_bytes(folder);
  if (room >= kLeastShared) return good(name, fmt::format("{} free", size_text(room)));
  return bad(name,
             fmt::format("only {} free, {} are needed", size_text(room), size_text(kLeastShared)),
             "remove what is left there, or in a container: docker run --shm-size=1g");
}

Check check_disk(const fs::path& folder) {
  const std::uint64_t room = free_bytes(folder);
  const std::string finding = fmt::format("{} free in {}", size_text(room), folder.string());
  if (room >= kLeastDisk) return good("disk", finding);
  return warning("disk", finding + ": logs and state may not fit", "make room there");
}

Check check_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string finding =
      fmt::format("{} open files, {} at most", limit.rlim_cur, limit.rlim_max);
  if (limit.rlim_max >= kLeastFiles) return good("open files", finding);
  return warning("open files", finding + ": too few for hundreds of peers",
                 "raise 'nofile' in /etc/security/limits.conf");
}

Check check_private(std::string name, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) {
    return good(std::move(name), folder.string() + " is not there yet");
  }
  if (!open_to_others(folder)) return good(std::move(name), folder.string() + " is private");
  const auto file = readable_file(folder);
  if (!file) return good(std::move(name), folder.string() + " holds nothing that others can read");
  return bad(std::move(name), file->string() + " can be read by others",
             "chmod -R go-rwx " + folder.string());
}

}  // namespace muster::cli
