#include "muster/comm/discovery/file/file_store.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "muster/base/fork_guard.h"
#include "muster/comm/discovery/file/file_name.h"
#include "muster/comm/discovery/file/group_folder.h"
#include "muster/comm/discovery/file/watch.h"
#include "muster/comm/errc.h"
#include "muster/runtime/interrupt.h"
#include "muster/runtime/poll.h"

namespace muster::comm {
namespace {

using file::GroupFolder;
using file::LiveFile;
using file::Registration;
using std::chrono::milliseconds;

// Without inotify this is how long a change may go unnoticed; with it, the death of a process whose
// forked child holds its lock.
constexpr Duration kLookWithoutWatch = milliseconds(200);
constexpr Duration kLookWithWatch = milliseconds(1000);

// Where many come at once, every one of them would look at all others whenever one more is there.
// So a look is followed by a rest so many times as long, in which whatever else comes is waited
// for.
constexpr int kRestAfterLook = 16;
constexpr Duration kLongestRest = milliseconds(250);

TimePoint now() { return SteadyClock().now(); }

/// A file of ours, and what is in it.
struct OwnFile {
  std::string name;
  FileDescriptor fd;  // holds the lock; closed after a refusal, while `since` is still needed
  Entry entry;
  std::uint64_t since = 0;
  TimePoint until;
};

/// The newest registration of each name whose lease has not ended, sorted by name.
std::vector<Entry> newest(std::vector<LiveFile> files) {
  const TimePoint at = now();
  std::erase_if(files, [&](const LiveFile& file) { return file.until <= at; });
  const auto rank = [](const LiveFile& file) {
    const Registration& r = file.registration;
    return std::tuple(r.entry.name, r.since, r.entry.instance, r.written);
  };
  std::sort(files.begin(), files.end(),
            [&](const LiveFile& a, const LiveFile& b) { return rank(a) < rank(b); });
  std::vector<Entry> entries;
  for (auto& file : files) {
    Entry& entry = file.registration.entry;
    if (!entries.empty() && entries.back().name == entry.name) entries.pop_back();
    entries.push_back(std::move(entry));
  }
  return entries;
}

class FileStore final : public Store {
 public:
  FileStore(std::filesystem::path root, Interrupt interrupt)
      : root_(std::move(root)), interrupt_(std::move(interrupt)) {}

  ~FileStore() override {
    if (inherited()) return;
    for (const auto& [key, own] : own_) folder(std::get<0>(key)).remove({own.name});
  }

  [[nodiscard]] std::string description() const override { return "file:" + root_.string(); }
  [[nodiscard]] bool host_only() const override { return true; }

  Result<void> put(const std::string& group, const Entry& entry, Duration lease) override;
  Result<void> remove(const std::string& group, const Name& name, InstanceId instance) override;
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& group) override;
  Result<void> wait_for_change(const std::string& group, TimePoint deadline) override;
  void interrupt() override { interrupt_.set(); }

 private:
  using Key = std::tuple<std::string, Name, InstanceId>;

  [[nodiscard]] GroupFolder folder(const std::string& group) const { return {root_, group}; }
  [[nodiscard]] bool inherited() const { return fork_generation() != made_in_; }
  [[nodiscard]] tl::unexpected<Error> forked() const {
    return fail(Errc::forked,
                fmt::format("the store {} was inherited through fork", description()));
  }

  // `mutex_` must be held.
  Result<void> enrol(const Key& key, const Entry& entry, std::uint64_t since, TimePoint until);
  [[nodiscard]] Result<void> make_way(const Key& key, OwnFile& own);
  [[nodiscard]] bool was_listed(const std::string& group, const std::vector<Entry>& entries);
  void sleep(bool watched, TimePoint until) const;
  /// All that live, and how long the look took.
  struct Look {
    std::vector<LiveFile> files;
    Duration took;
  };
  [[nodiscard]] Result<Look> look(const std::string& group, file::KnownFiles::Ask ask);

  const std::filesystem::path root_;
  const Interrupt interrupt_;
  const file::Watch watch_;
  const std::uint64_t made_in_ = fork_generation();
  std::mutex mutex_;
  bool swept_ = false;
  std::map<Key, OwnFile> own_;
  std::map<std::string, std::vector<Entry>> listed_;  // what `list` returned last
  std::mutex looking_;
  std::map<std::string, file::KnownFiles> known_;  // by group; guarded by `looking_`
};

Result<void> FileStore::put(const std::string& group, const Entry& entry, Duration lease) {
  if (inherited()) return forked();
  const std::lock_guard lock(mutex_);
  const Key key{group, entry.name, entry.instance};
  const auto own = own_.find(key);
  const TimePoint until = now() + lease;
  if (own == own_.end()) return enrol(key, entry, 0, until);
  const bool lapsed = own->second.until <= now();
  if (!lapsed && own->second.entry == entry && GroupFolder::renew(own->second.fd, until)) {
    own->second.until = until;
    return make_way(key, own->second);
  }
  // Others must notice this, or somebody removed the file: a tidy user, or a newer instance of the
  // name.
  return enrol(key, entry, own->second.since, until);
}

// Everybody writes first and looks then, so of two that come at once at least one sees the other;
// the newer stays.
Result<void> FileStore::enrol(const Key& key, const Entry& entry, std::uint64_t since,
                              TimePoint until) {
  if (!std::exchange(swept_, true)) file::sweep_dead_groups(root_);
  const GroupFolder folder = this->folder(std::get<0>(key));
  const std::string prefix = file::peer_prefix(entry.name);
  auto before = folder.scan(prefix);
  if (!before) return fail(before.error());
  Registration registration = file::own_registration(entry, since);
  for (const auto& other : *before) {
    if (since == 0) registration.since = std::max(registration.since, other.registration.since + 1);
    registration.written = std::max(registration.written, other.registration.written + 1);
  }
  OwnFile own{file::fresh_file(entry.name, entry.instance), {}, entry, registration.since, until};
  auto written = folder.write(own.name, registration.to_text(), until);
  if (!written) return fail(written.error());
  own.fd = *std::move(written);

  const auto after = folder.scan(prefix);
  if (!after) return fail(after.error());
  std::vector<std::string> older;
  const Entry* holder = nullptr;
  for (const auto& other : *after) {
    if (other.name == own.name) continue;
    const bool newer = other.registration.newer_than(own.since, entry.instance);
    if (newer && other.until > now()) holder = &other.registration.entry;
    if (!newer) older.push_back(other.name);
  }
  if (holder != nullptr) {
    older.push_back(own.name);
    own.fd.reset();
  }
  own_.insert_or_assign(key, std::move(own));
  folder.remove(older);
  if (holder == nullptr) return {};
  return fail(name_taken(entry, std::get<0>(key), *holder));
}

// A newer instance removes our file, but not in the moment in which others see it.
Result<void> FileStore::make_way(const Key& key, OwnFile& own) {
  const GroupFolder folder = this->folder(std::get<0>(key));
  const auto files = folder.scan(file::peer_prefix(own.entry.name));
  if (!files) return fail(files.error());
  for (const auto& other : *files) {
    if (!other.registration.newer_than(own.since, own.entry.instance) || other.until <= now())
      continue;
    own.fd.reset();
    folder.remove({own.name});
    return fail(name_taken(own.entry, std::get<0>(key), other.registration.entry));
  }
  return {};
}

Result<void> FileStore::remove(const std::string& group, const Name& name, InstanceId instance) {
  if (inherited()) return forked();
  const std::lock_guard lock(mutex_);
  const GroupFolder folder = this->folder(group);
  own_.erase({group, name, instance});
  // Files of ours are unlocked now and go as those of the dead do.
  const auto files = folder.scan(file::peer_prefix(name));
  if (!files) return fail(files.error());
  std::vector<std::string> gone;
  for (const auto& file : *files) {
    if (file.registration.entry.instance == instance) gone.push_back(file.name);
  }
  if (!gone.empty()) folder.remove(gone);
  folder.sweep();  // nobody may have looked since the others died
  return {};
}

Result<FileStore::Look> FileStore::look(const std::string& group, file::KnownFiles::Ask ask) {
  const std::lock_guard lock(looking_);
  const TimePoint start = now();
  auto files = folder(group).scan(known_[group], ask);
  if (!files) return fail(files.error());
  return Look{*std::move(files), now() - start};
}

Result<std::vector<Entry>> FileStore::list(const std::string& group) {
  if (inherited()) return forked();
  auto looked = look(group, file::KnownFiles::Ask::all);
  if (!looked) return fail(looked.error());
  auto entries = newest(std::move(looked->files));
  const std::lock_guard lock(mutex_);
  listed_[group] = entries;
  return entries;
}

Result<void> FileStore::wait_for_change(const std::string& group, TimePoint deadline) {
  if (inherited()) return forked();
  const GroupFolder folder = this->folder(group);
  while (!interrupt_.take()) {
    watch_.drain();
    // First watch, then look: what happens after the look ends the sleep.
    const bool watched = watch_.add(root_, folder.path());
    auto looked = look(group, file::KnownFiles::Ask::now_and_then);
    TimePoint wake = std::min(deadline, now() + (watched ? kLookWithWatch : kLookWithoutWatch));
    if (!looked) {
      sleep(false, wake);
      return fail(looked.error());
    }
    for (const auto& file : looked->files) {
      if (file.until > now()) wake = std::min(wake, file.until);
    }
    if (!was_listed(group, newest(std::move(looked->files))) || now() >= deadline) return {};
    sleep(watched, wake);
    sleep(false, std::min(deadline, now() + std::min(kRestAfterLook * looked->took, kLongestRest)));
  }
  return {};
}

bool FileStore::was_listed(const std::string& group, const std::vector<Entry>& entries) {
  const std::lock_guard lock(mutex_);
  const auto last = listed_.find(group);
  return last != listed_.end() && last->second == entries;
}

void FileStore::sleep(bool watched, TimePoint until) const {
  std::array slots{pollfd{interrupt_.fd(), POLLIN, 0},
                   pollfd{watched ? watch_.fd() : -1, POLLIN, 0}};
  static_cast<void>(poll_until(slots, until));
}

}  // namespace

Result<std::unique_ptr<Store>> make_file_store(const std::filesystem::path& root) {
  auto absolute = std::filesystem::absolute(root).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // "/run/muster/"
  const auto checked = file::open_root(absolute);
  if (!checked) return fail(checked.error());
  auto interrupt = Interrupt::create();
  if (!interrupt) return fail(Errc::internal, interrupt.error().message());
  return std::make_unique<FileStore>(absolute, *std::move(interrupt));
}

}  // namespace muster::comm
