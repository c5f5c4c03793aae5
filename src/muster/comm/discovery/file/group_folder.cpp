#include "muster/comm/discovery/file/group_folder.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/comm/discovery/file/file_name.h"
#include "muster/comm/discovery/file/root.h"
#include "muster/comm/errc.h"
#include "muster/runtime/host.h"
#include "muster/runtime/process_life.h"

namespace muster::comm::file {
namespace {

constexpr std::size_t kLongestText = 128 * 1024;
// Somebody may remove the empty folder, or the file before it is locked, just when we need it; that
// often in a row means something else.
constexpr int kAttempts = 100;
// How long a process that ran is taken to run as long as its file is locked, unless all are asked.
constexpr Duration kRunsFor = std::chrono::milliseconds(900);

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Locks of open file descriptions rather than of processes: two proxies of one process exclude each
// other, and closing another descriptor of the file does not drop the lock. They survive in a
// forked child, which is why `Keepers` looks at the process too.
bool lock(int fd) {
  auto request = whole_file();
  return ::fcntl(fd, F_OFD_SETLK, &request) == 0;
}

bool is_locked(int fd) {
  auto request = whole_file();
  return ::fcntl(fd, F_OFD_GETLK, &request) != 0 || request.l_type != F_UNLCK;
}

timespec to_timespec(TimePoint time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
}

TimePoint from_timespec(const timespec& time) {
  return TimePoint(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
}

bool set_until(int fd, TimePoint until) {
  const timespec times[2] = {{0, UTIME_OMIT}, to_timespec(until)};
  return ::futimens(fd, times) == 0;
}

bool write_whole(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

std::optional<std::string> read_whole(int fd, std::size_t size) {
  if (size > kLongestText) return std::nullopt;
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto got = ::read(fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

/// Whether the process that wrote a file runs, asked once per process and scan.
class Keepers {
 public:
  bool run(const Registration& registration) {
    // A pid of another namespace says nothing; the lock does.
    if (registration.pid_namespace != namespace_) return true;
    const auto key = std::pair(registration.pid, registration.start);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_[key] = process_runs(key.first, key.second);
  }

 private:
  std::string namespace_ = pid_namespace();
  std::map<std::pair<std::int64_t, std::uint64_t>, bool> known_;
};

enum class Verdict { keep, skip, dead };

// A name that begins with a dot is a file being written.
Verdict judge(int folder, Keepers& keepers, LiveFile& file, KnownFiles* known = nullptr,
              KnownFiles::Ask ask = KnownFiles::Ask::all) {
  const FileDescriptor fd(::openat(folder, file.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return Verdict::skip;
  if (!is_locked(fd.get())) return Verdict::dead;
  if (file.name.front() == '.') return Verdict::skip;
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return Verdict::skip;
  file.until = from_timespec(status.st_mtim);
  const TimePoint now = SteadyClock().now();
  if (auto* const one = known != nullptr ? known->find(file.name) : nullptr) {
    if (ask == KnownFiles::Ask::all || now - one->ran_at >= kRunsFor) {
      if (!keepers.run(one->registration)) return Verdict::dead;
      one->ran_at = now;
    }
    file.registration = one->registration;
    return Verdict::keep;
  }
  const auto text = read_whole(fd.get(), static_cast<std::size_t>(status.st_size));
  if (!text) return Verdict::skip;
  auto registration = Registration::from_text(*text);
  if (!registration) {
    log(LogLevel::warning, "comm", "skipped the discovery file '{}': {}", file.name,
        registration.error().message());
    return Verdict::skip;
  }
  if (!keepers.run(*registration)) return Verdict::dead;
  file.registration = *std::move(registration);
  if (known != nullptr) known->add(file.name, {file.registration, now});
  return Verdict::keep;
}

template <class Wanted>
Result<std::vector<std::string>> names_in(const FileDescriptor& folder, Wanted wanted) {
  // The stream closes its descriptor; "." gives it one of its own.
  const int own = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(own < 0 ? nullptr : ::fdopendir(own),
                                                   ::closedir);
  std::vector<std::string> names;
  if (!stream) {
    if (errno == ENOENT) return names;
    return fail(Errc::store_unreachable, system_error(errno, "read a discovery folder").message());
  }
  while (const dirent* item = ::readdir(stream.get())) {
    const std::string_view name = item->d_name;
    if (wanted(name)) names.emplace_back(name);
  }
  return names;
}

// A group is alive if one of its files is: the others need not be looked at.
bool all_dead(int folder, const std::vector<std::string>& names) {
  Keepers keepers;
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    LiveFile file{name, {}, {}};
    return judge(folder, keepers, file) == Verdict::dead;
  });
}

void sweep_group(const FileDescriptor& root, const std::string& group) {
  const FileDescriptor folder(
      ::openat(root.get(), group.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return;
  const auto names = names_in(folder, is_entry_file);
  if (!names || !all_dead(folder.get(), *names)) return;
  for (const std::string& name : *names) ::unlinkat(folder.get(), name.c_str(), 0);
  // Refused while there are others.
  ::unlinkat(root.get(), group.c_str(), AT_REMOVEDIR);
}

}  // namespace

KnownFiles::Known* KnownFiles::find(const std::string& name) {
  const auto it = files_.find(name);
  return it == files_.end() ? nullptr : &it->second;
}

void KnownFiles::keep_only(const std::vector<LiveFile>& files) {
  std::set<std::string_view> there;
  for (const LiveFile& file : files) there.insert(file.name);
  std::erase_if(files_, [&](const auto& item) { return !there.contains(item.first); });
}

GroupFolder::GroupFolder(std::filesystem::path root, std::string_view group)
    : root_(std::move(root)), path_(root_ / group_folder_name(group)) {}

// The descriptor is invalid if the folder is absent and shall not be made.
Result<FileDescriptor> GroupFolder::open(Create create) const {
  auto root = open_root(root_);
  // `Errc::refused` would say that the name is taken.
  if (!root) return fail(Errc::store_unreachable, root.error().message());
  const std::string name = path_.filename();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    FileDescriptor folder(
        ::openat(root->get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder || (errno == ENOENT && create == Create::no)) return folder;
    if (errno != ENOENT) break;
    if (::mkdirat(root->get(), name.c_str(), 0700) != 0 && errno != EEXIST) break;
  }
  return fail(
      Errc::store_unreachable,
      system_error(errno, fmt::format("open the discovery folder '{}'", path_.string())).message());
}

Result<std::vector<LiveFile>> GroupFolder::scan(std::string_view prefix) const {
  return scan(prefix, nullptr, KnownFiles::Ask::all);
}

Result<std::vector<LiveFile>> GroupFolder::scan(KnownFiles& known, KnownFiles::Ask ask) const {
  auto files = scan({}, &known, ask);
  if (files) known.keep_only(*files);
  return files;
}

Result<std::vector<LiveFile>> GroupFolder::scan(std::string_view prefix, KnownFiles* known,
                                                KnownFiles::Ask ask) const {
  const auto folder = open(Create::no);
  if (!folder) return fail(folder.error());
  std::vector<LiveFile> files;
  if (!*folder) return files;
  auto names = names_in(*folder, [prefix](std::string_view name) {
    return is_entry_file(name) && name.starts_with(prefix);
  });
  if (!names) return fail(names.error());
  Keepers keepers;
  std::vector<std::string> dead;
  for (auto& name : *names) {
    LiveFile file{std::move(name), {}, {}};
    const Verdict verdict = judge(folder->get(), keepers, file, known, ask);
    if (verdict == Verdict::dead) {
      dead.push_back(std::move(file.name));
    } else if (verdict == Verdict::keep) {
      files.push_back(std::move(file));
    }
  }
  if (!dead.empty()) remove(dead);
  return files;
}

Result<FileDescriptor> GroupFolder::write(const std::string& name, const std::string& text,
                                          TimePoint until) const {
  const std::string unready = "." + name;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto folder = open(Create::yes);
    if (!folder) return fail(folder.error());
    FileDescriptor file(::openat(folder->get(), unready.c_str(),
                                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file && errno == ENOENT) continue;
    if (!file) break;
    const bool ready =
        lock(file.get()) && write_whole(file.get(), text) && set_until(file.get(), until);
    if (ready && ::renameat(folder->get(), unready.c_str(), folder->get(), name.c_str()) == 0)
      return file;
    const int error = errno;
    ::unlinkat(folder->get(), unready.c_str(), 0);
    errno = error;
    if (error != ENOENT) break;
  }
  return fail(Errc::store_unreachable,
              system_error(errno, fmt::format("write to the discovery folder '{}'", path_.string()))
                  .message());
}

bool GroupFolder::renew(const FileDescriptor& file, TimePoint until) {
  struct stat status{};
  return set_until(file.get(), until) && ::fstat(file.get(), &status) == 0 && status.st_nlink > 0;
}

void GroupFolder::remove(const std::vector<std::string>& names) const {
  const auto folder = open(Create::no);
  if (!folder || !*folder) return;
  for (const auto& name : names) ::unlinkat(folder->get(), name.c_str(), 0);
  // Refused while there are others.
  ::rmdir(path_.c_str());
}

void GroupFolder::sweep() const {
  if (const auto root = open_root(root_)) sweep_group(*root, path_.filename());
}

void sweep_dead_groups(const std::filesystem::path& root) {
  const auto root_fd = open_root(root);
  if (!root_fd) return;
  const auto groups = names_in(*root_fd, is_group_folder);
  if (!groups) return;
  for (const std::string& group : *groups) sweep_group(*root_fd, group);
}

}  // namespace muster::comm::file
