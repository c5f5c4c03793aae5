#include "muster/service/scheduler/journal_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/service/errc.h"
#include "muster/version.h"

namespace muster::service {
namespace {

constexpr std::string_view kMagic = "muster scheduler journal ";

/// What a file of this program begins with. Entries are as this program has them in memory, so
/// others do not read them: they would find them torn, or take them for something else.
const std::string& first_line() {
  static const std::string line =
      fmt::format("{}3 of muster {}, layout {:016x}\n", kMagic, kVersion, entry_layout());
  return line;
}

/// Up to the end of the line, as far as it may be shown.
std::string shown_line(std::string_view text) {
  text = text.substr(0, std::min<std::size_t>(text.find('\n'), 100));
  std::string shown(text);
  for (char& letter : shown)
    if (letter < ' ' || letter > '~') letter = '?';
  return shown;
}

Result<FileDescriptor> open_file(const std::string& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(system_error(errno, fmt::format("open '{}'", path)));
  return file;
}

Result<void> write_all(int fd, ByteSpan bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail(system_error(errno, fmt::format("write '{}'", path)));
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return {};
}

/// Whether the file ends within the first line that this program would write.
Result<bool> is_torn(int fd, std::size_t size, const std::string& path) {
  if (size >= first_line().size()) return false;
  std::string begun(size, '\0');
  if (::pread(fd, begun.data(), size, 0) != static_cast<ssize_t>(size))
    return fail(system_error(errno, fmt::format("read '{}'", path)));
  return first_line().starts_with(begun);
}

}  // namespace

JournalFile::JournalFile(std::string folder, FileDescriptor lock, FileDescriptor file,
                         std::size_t size)
    : path_(std::move(folder) + "/journal"),
      lock_(std::move(lock)),
      file_(std::move(file)),
      size_(size) {}

Result<std::unique_ptr<JournalFile>> JournalFile::open(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(system_error(errno, fmt::format("make the journal folder '{}'", folder)));
  auto lock = open_file(folder + "/lock", O_RDWR | O_CREAT);
  if (!lock) return fail(lock.error());
  if (::flock(lock->get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::refused,
                fmt::format("the journal in '{}' is used by another scheduler; stop that one, or "
                            "give this one a folder of its own",
                            folder));
  auto file = open_file(folder + "/journal", O_RDWR | O_CREAT | O_APPEND);
  if (!file) return fail(file.error());
  struct stat status{};
  if (::fstat(file->get(), &status) != 0)
    return fail(system_error(errno, fmt::format("stat '{}/journal'", folder)));
  // It may hold functions that workers run: nobody else may have put them there.
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0)
    return fail(Errc::refused,
                fmt::format("'{}/journal' belongs to another user, or others may write it: move it "
                            "away, or give --journal-dir a folder of this user",
                            folder));
  auto size = static_cast<std::size_t>(status.st_size);
  if (auto torn = is_torn(file->get(), size, folder + "/journal"); !torn) {
    return fail(torn.error());
  } else if (*torn) {
    // In its first line: nothing can have followed.
    if (::ftruncate(file->get(), 0) != 0)
      return fail(system_error(errno, fmt::format("truncate '{}/journal'", folder)));
    if (auto ok = write_all(file->get(), as_bytes(first_line()), folder + "/journal"); !ok)
      return fail(ok.error());
    size = first_line().size();
  }
  return std::unique_ptr<JournalFile>(
      new JournalFile(folder, std::move(*lock), std::move(*file), size));  // NOLINT: private
}

Result<ByteSpan> JournalFile::contents() {
  auto mapped = Mapping::map(file_.get(), size_, Populate::no, Access::read_only);
  if (!mapped) return fail(mapped.error());
  mapping_ = std::move(*mapped);
  const ByteSpan whole(mapping_.data(), size_);
  const std::string_view text = as_text(whole);
  if (text.starts_with(first_line())) return whole.subspan(first_line().size());
  if (text.starts_with(kMagic)) return fail(of_another_version(shown_line(text)));
  return fail(not_ours(0, "its first line"));
}

Error JournalFile::not_ours(std::size_t at, const std::string& why) const {
  return {make_error_code(Errc::malformed),
          fmt::format("'{}' is no journal that this program can read (at byte {}: {}); move it "
                      "away to begin without it",
                      path_, at, why)};
}

Error JournalFile::of_another_version(const std::string& line) const {
  return {make_error_code(Errc::malformed),
          fmt::format("'{}' was written by another version of Muster: it is a '{}', and this one "
                      "reads '{}'. Run that version until its sessions are closed and move the "
                      "file away then, or move it away now to begin without them",
                      path_, line, shown_line(first_line()))};
}

Result<void> JournalFile::cut_off(std::size_t good) {
  mapping_ = {};
  cut_ = size_ - first_line().size() - good;
  size_ = first_line().size() + good;
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return fail(system_error(errno, fmt::format("truncate '{}'", path_)));
  return {};
}

Result<void> JournalFile::flush() {
  if (pending_.empty()) return {};
  std::vector<std::byte> batch = std::exchange(pending_, {});
  if (!failure_.empty()) return {};
  if (auto ok = write_all(file_.get(), batch, path_); !ok) {
    failure_ = ok.error().message();
    // Half a batch would be taken for all there is.
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) failure_ += "; it may be torn";
    return ok;
  }
  size_ += batch.size();
  constexpr std::size_t kKept = std::size_t{1} << 20;
  batch.clear();
  if (batch.capacity() <= kKept) pending_ = std::move(batch);  // memory for the next one
  return {};
}

Result<void> JournalFile::start_over() {
  auto ok = write_anew();
  if (!ok) failure_ = ok.error().message();
  return ok;
}

Result<void> JournalFile::write_anew() {
  const std::string beside = path_ + ".new";
  (void)::unlink(beside.c_str());
  auto file = open_file(beside, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
  if (!file) return fail(file.error());
  const std::vector<std::byte> batch = std::exchange(pending_, {});
  if (auto ok = write_all(file->get(), as_bytes(first_line()), beside); !ok) return ok;
  if (auto ok = write_all(file->get(), batch, beside); !ok) return ok;
  if (::rename(beside.c_str(), path_.c_str()) != 0)
    return fail(system_error(errno, fmt::format("rename '{}'", beside)));
  file_ = std::move(*file);
  size_ = first_line().size() + batch.size();
  failure_.clear();
  return {};
}

}  // namespace muster::service
