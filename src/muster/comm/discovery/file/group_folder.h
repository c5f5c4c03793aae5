#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/base/result.h"
#include "muster/comm/discovery/file/registration.h"
#include "muster/runtime/fd.h"

namespace muster::comm::file {

/// A file that somebody keeps alive.
struct LiveFile {
  std::string name;
  Registration registration;
  TimePoint until;  ///< the end of its lease; a paused process lets it pass
};

/// What is known of files from earlier looks: a name is used for one file only, which never
/// changes, so it is read once. Not thread-safe.
class KnownFiles {
 public:
  /// Of which of them it is asked whether their processes run: a lock may outlive its owner, in a
  /// child process.
  enum class Ask : bool { now_and_then, all };

  struct Known {
    Registration registration;
    TimePoint ran_at;  ///< when its process was last seen to run
  };

  [[nodiscard]] Known* find(const std::string& name);
  void add(const std::string& name, Known known) {
    files_.insert_or_assign(name, std::move(known));
  }
  /// Forgets those that are not there any more.
  void keep_only(const std::vector<LiveFile>& files);

 private:
  std::map<std::string, Known> files_;
};

/// The files of one group. Each is locked by who wrote it, is never changed (only its time of
/// modification, which holds the end of the lease) and has a name that is used once. The folder
/// appears with the first file and goes with the last.
class GroupFolder {
 public:
  GroupFolder(std::filesystem::path root, std::string_view group);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// The live files whose names begin with the prefix. Removes those of the dead on the way.
  [[nodiscard]] Result<std::vector<LiveFile>> scan(std::string_view prefix = {}) const;
  /// All live files, without reading again what is known.
  [[nodiscard]] Result<std::vector<LiveFile>> scan(KnownFiles& known, KnownFiles::Ask ask) const;

  /// Writes a file that appears whole and locked. It lives while the descriptor is open here.
  [[nodiscard]] Result<FileDescriptor> write(const std::string& name, const std::string& text,
                                             TimePoint until) const;

  /// Moves the end of the lease. False if the file was removed.
  [[nodiscard]] static bool renew(const FileDescriptor& file, TimePoint until);

  /// Removes files, and the folder if it is empty then. What is absent already is fine.
  void remove(const std::vector<std::string>& names) const;
  /// Removes the folder if nobody in it lives.
  void sweep() const;

 private:
  enum class Create : bool { no, yes };
  [[nodiscard]] Result<FileDescriptor> open(Create create) const;
  [[nodiscard]] Result<std::vector<LiveFile>> scan(std::string_view prefix, KnownFiles* known,
                                                   KnownFiles::Ask ask) const;

  std::filesystem::path root_;
  std::filesystem::path path_;
};

/// Removes the folders of groups whose members are all dead. Whoever joins one of them meanwhile
/// makes it again.
void sweep_dead_groups(const std::filesystem::path& root);

}  // namespace muster::comm::file
