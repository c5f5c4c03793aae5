#include "muster/runtime/child_process.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/runtime/file_text.h"
#include "muster/runtime/unix_socket.h"

namespace muster {
namespace {

class Attributes {
 public:
  explicit Attributes(bool new_session) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    const int group = new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    const int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  // False when there are too few descriptors.
  [[nodiscard]] bool place(const std::vector<std::pair<int, int>>& files) {
    int last = STDERR_FILENO;
    for (const auto& [target, source] : files) last = std::max(last, target);
    for (int standard = 0; standard <= STDERR_FILENO; ++standard) {
      const auto named = [&](const auto& file) { return file.first == standard; };
      if (std::ranges::any_of(files, named)) continue;
      ::posix_spawn_file_actions_addopen(&actions_, standard, "/dev/null", O_RDWR, 0);
    }
    for (const auto& [target, source] : files) {
      // A copy above all targets, so that no target overwrites a source before its turn.
      copies_.emplace_back(::fcntl(source, F_DUPFD_CLOEXEC, last + 1));
      if (!copies_.back()) return false;
      ::posix_spawn_file_actions_adddup2(&actions_, copies_.back().get(), target);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, last + 1);
    return true;
  }
  void enter(const std::string& folder) {
    if (!folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
  std::vector<FileDescriptor> copies_;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 2);
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// posix_spawn returns when the child has left our memory, a moment before its own environment can
// be seen in /proc. Others find processes by that: whoever ends us now must find the child.
void await_environment(pid_t pid) {
  constexpr int kMostMilliseconds = 1000;
  const std::string file = "/proc/" + std::to_string(pid) + "/environ";
  for (int waited = 0; waited < kMostMilliseconds && file_text(file).empty(); ++waited) {
    siginfo_t ended{};
    const int error = ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (error != 0 || ended.si_pid == pid) return;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const SpawnOptions& options) {
  std::vector<char*> arguments = pointers(options.arguments);
  arguments.insert(arguments.begin(), const_cast<char*>(options.program.c_str()));
  std::vector<char*> environment;
  if (options.environment) environment = pointers(*options.environment);

  FileActions actions;
  if (!actions.place(options.files)) {
    return fail(system_error(errno, "start '" + options.program + "'"));
  }
  actions.enter(options.working_dir);
  const Attributes attributes(options.new_session);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, options.program.c_str(), actions.get(), attributes.get(),
                    arguments.data(), options.environment ? environment.data() : ::environ);
  if (error != 0) return fail(system_error(error, "start '" + options.program + "'"));
  // The pid cannot be used again before we have waited for it, unless nobody has to wait: then the
  // process may be gone already, and the pid that of a stranger.
  auto pidfd = watch_process(pid);
  if (!pidfd && errno == ESRCH) return ChildProcess::ended(pid);
  if (!pidfd) {
    const int reason = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(system_error(reason, "watch '" + options.program + "'"));
  }
  if (!options.environment || !options.environment->empty()) await_environment(pid);
  ChildProcess child(pid, std::move(*pidfd));
  (void)child.try_wait();  // which sees a stranger that has its pid by now
  return child;
}

Result<ChildProcess> ChildProcess::ended(pid_t pid) {
  FileDescriptor readable(::eventfd(1, EFD_CLOEXEC));
  if (!readable) return fail(system_error(errno, "eventfd"));
  ChildProcess child(pid, std::move(readable));
  child.status_ = ExitStatus{.code = kUnknownCode};
  return child;
}

void ChildProcess::signal(int number) const {
  if (!status_) signal_process(pidfd_, number);
}

std::optional<ExitStatus> ChildProcess::try_wait() {
  if (status_) return status_;
  siginfo_t end{};
  // Not by the pid, which may be another child's by now, if somebody else has waited for this one.
  const int error = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &end, WEXITED | WNOHANG);
  if (error == 0 && end.si_pid == pid_) {
    status_ = end.si_code == CLD_EXITED ? ExitStatus{.code = end.si_status}
                                        : ExitStatus{.signal = end.si_status};
  }
  // Not our child any more: nobody will ever say how it ended.
  if (error != 0 && errno == ECHILD) status_ = ExitStatus{.code = kUnknownCode};
  return status_;
}

void signal_process(const FileDescriptor& pidfd, int number) {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
}

}  // namespace muster
