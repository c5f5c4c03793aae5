#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "muster/base/result.h"
#include "muster/runtime/exit_status.h"
#include "muster/runtime/fd.h"

namespace muster {

/// What to start, without a shell in between.
struct SpawnOptions {
  std::string program{};                 ///< a path; it is not looked for
  std::vector<std::string> arguments{};  ///< without the name of the program
  /// "NAME=value"; nothing passes our own on.
  std::optional<std::vector<std::string>> environment{};
  std::string working_dir{};  ///< ours when empty
  /// Descriptors of the child and ours that they are made from. All others are closed in the child,
  /// but 0, 1 and 2, which come from /dev/null when they are not named.
  std::vector<std::pair<int, int>> files{};
  /// A session of its own, so that signals of our terminal pass it by; else only a process group.
  bool new_session = false;
};

/// A process that we started. It is not ended with the object: who wants that signals it first.
/// Not thread-safe.
class ChildProcess {
 public:
  /// Returns when the program runs, or why it cannot be started. It leads a process group of its
  /// own, with all signals at their defaults.
  [[nodiscard]] static Result<ChildProcess> spawn(const SpawnOptions& options);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable when it has ended.
  [[nodiscard]] int fd() const { return pidfd_.get(); }

  /// Does nothing when it has ended.
  void signal(int number) const;
  /// How it ended, if it has. Where that was told to somebody else, or to nobody because this
  /// process ignores SIGCHLD, it is `kUnknownCode`.
  [[nodiscard]] std::optional<ExitStatus> try_wait();
  static constexpr int kUnknownCode = 255;

 private:
  // One that was gone before it could be watched.
  static Result<ChildProcess> ended(pid_t pid);

  ChildProcess(pid_t pid, FileDescriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  std::optional<ExitStatus> status_;
};

/// Sends a signal to the process that the descriptor of pidfd_open(2) stands for.
void signal_process(const FileDescriptor& pidfd, int number);

}  // namespace muster
