#include "muster/cluster/launch/process/shim.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "muster/base/wall_clock.h"
#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/descendants.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/cluster/launch/process/output_log.h"
#include "muster/cluster/launch/process/shim_child.h"
#include "muster/runtime/cgroup_folder.h"
#include "muster/runtime/fd.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int kPassedOn[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGUSR1, SIGUSR2,
                             SIGALRM, SIGWINCH, SIGTSTP, SIGCONT};
// For what a program leaves behind when it ends by itself.
constexpr milliseconds kLeftoverGrace{2'000};
// Between two looks for processes that forked while they were being killed.
constexpr milliseconds kKillAgain{20};
// 127 and 126 are what shells answer.
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

FileDescriptor take_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGCHLD);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGPIPE);
  for (const int number : kPassedOn) ::sigaddset(&signals, number);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::sigdelset(&signals, SIGPIPE);  // blocked and never looked at: writes fail instead
  return FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Ends a program and everything below it, step by step, without ever waiting itself.
class Ending {
 public:
  [[nodiscard]] bool begun() const { return deadline_.has_value(); }
  [[nodiscard]] std::optional<SteadyTime> deadline() const { return deadline_; }

  // SIGTERM now, SIGKILL later. Asked again, it only comes sooner.
  void within(milliseconds grace) {
    const SteadyTime end = std::chrono::steady_clock::now() + grace;
    deadline_ = deadline_ ? std::min(*deadline_, end) : end;
  }
  // Kills what is left when it is time.
  void look(pid_t group) {
    if (!deadline_ || std::chrono::steady_clock::now() < *deadline_) return;
    ::kill(-group, SIGKILL);
    for (const pid_t process : descendants(::getpid())) ::kill(process, SIGKILL);
    deadline_ = std::chrono::steady_clock::now() + kKillAgain;
  }

 private:
  std::optional<SteadyTime> deadline_;
};

class Shim {
 public:
  explicit Shim(const ShimOrder& order) : order_(order), signals_(take_signals()) {}

  int run() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!order_.folder.empty() && !claim_folder()) return 0;
    for (const int fd : {order_.watch_fd, order_.report_fd}) {
      if (fd >= 0) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    record_.started_ms = wall_clock();
    if (start()) live();
    finish();
    return record_.status.shell_code();
  }

 private:
  bool claim_folder() {
    auto claim = take_claim(order_.folder, shim_claim_text(::getpid()));
    if (!claim || !*claim) return false;
    claim_ = std::move(**claim);
    log_.emplace(order_.folder, order_.log_bytes, order_.log_keep);
    return true;
  }

  bool start() {
    FileDescriptor write_end;
    if (log_) {
      std::array<int, 2> ends{-1, -1};
      if (::pipe2(ends.data(), O_CLOEXEC) != 0) return not_started(system_error(errno, "pipe"));
      output_ = FileDescriptor(ends[0]);
      write_end = FileDescriptor(ends[1]);
      ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    }
    const auto pid = start_component(order_, write_end.get());
    if (!pid) return not_started(pid.error());
    component_ = *pid;
    if (claim_) add_component(claim_, component_);
    return true;
  }

  bool not_started(const Error& error) {
    record_.failure = "cannot " + error.message();
    const bool absent = error.code().value() == ENOENT;
    record_.status = {.code = absent ? kNotFound : kNotStarted};
    while (::waitpid(-1, nullptr, 0) > 0) continue;
    return false;
  }

  // Until the program and everything below it are gone.
  void live() {
    while (!reap()) {
      wait();
      take_output();
      take_signal();
      ending_.look(component_);
    }
    take_output();
  }

  void wait() {
    std::array<pollfd, 3> slots{pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = output_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = order_.watch_fd, .events = POLLIN, .revents = 0}};
    if (watch_ended_) slots[2].fd = -1;
    int timeout = -1;
    if (const auto deadline = ending_.deadline()) {
      const auto left =
          std::chrono::ceil<milliseconds>(*deadline - std::chrono::steady_clock::now());
      timeout = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
    }
    ::poll(slots.data(), slots.size(), timeout);
    if (slots[2].revents != 0) {
      watch_ended_ = true;
      end();
    }
  }

  void take_output() {
    std::array<char, 65536> piece;
    while (output_) {
      const ssize_t count = ::read(output_.get(), piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      if (count == 0) return output_.reset();
      log_->write({piece.data(), static_cast<std::size_t>(count)});
      // Others want to be looked at, too, when it prints without end.
      if (static_cast<std::size_t>(count) < piece.size() || !ended_) return;
    }
  }

  void take_signal() {
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGTERM) {
        end();
      } else if (number != SIGCHLD && !ended_) {
        ::kill(-component_, number);
      }
    }
  }

  void end() {
    if (!ending_.begun() && !ended_) {
      ::kill(-component_, SIGTERM);
      ::kill(-component_, SIGCONT);  // a program that is stopped hears it then only
    }
    ending_.within(order_.grace);
  }

  // True when nothing is left.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == component_) component_ended(status);
    }
    const bool nothing_left = pid < 0 && errno == ECHILD;
    if (ended_ && !nothing_left && !leftovers_told_) {
      leftovers_told_ = true;
      for (const pid_t process : descendants(::getpid())) {
        ::kill(process, SIGTERM);
        ::kill(process, SIGCONT);  // else it does not hear the first
      }
      ending_.within(std::min(order_.grace, kLeftoverGrace));
    }
    return nothing_left;
  }

  void component_ended(int status) {
    ended_ = true;
    record_.status = ExitStatus::from_wait(status);
  }

  void finish() {
    record_.ended_ms = wall_clock();
    record_.out_of_memory =
        !record_.status.success() && std::ranges::any_of(order_.cgroups, cgroup_ran_out_of_memory);
    for (const auto& cgroup : order_.cgroups) remove_cgroup(cgroup);
    if (log_ && !record_.failure.empty()) log_->write("[muster: " + record_.failure + "]\n");
    const std::string text = record_.text();
    if (!order_.folder.empty()) (void)write_durably(order_.folder, kExitFile, text);
    if (order_.report_fd >= 0) (void)!::write(order_.report_fd, text.data(), text.size());
  }

  const ShimOrder& order_;
  FileDescriptor signals_;
  FileDescriptor claim_;
  FileDescriptor output_;
  std::optional<OutputLog> log_;
  ExitRecord record_;
  Ending ending_;
  pid_t component_ = -1;
  bool ended_ = false;
  bool leftovers_told_ = false;
  bool watch_ended_ = false;
};

}  // namespace

int run_shim(const ShimOrder& order) { return Shim(order).run(); }

}  // namespace muster::cluster
