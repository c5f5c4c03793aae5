#include "muster/cluster/node/daemon.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <span>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/launch/process/shim_program.h"
#include "muster/cluster/node/agent_lock.h"
#include "muster/cluster/node/agent_log.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/signals.h"
#include "muster/runtime/unix_socket.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFirstPause = milliseconds(50);
constexpr Duration kLongestPause = seconds(5);
constexpr Duration kLongLife = seconds(10);  // after which a death is taken for an accident
constexpr int kLookAgainMilliseconds = 5;

class Supervisor {
 public:
  Supervisor(std::string program, ClusterLayout layout, SignalReader signals)
      : program_(std::move(program)), layout_(std::move(layout)), signals_(std::move(signals)) {}

  int run(Beside beside) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (beside == Beside::yes && accompany()) return 0;
    Duration pause = kFirstPause;
    while (!leaving_) {
      trim_agent_log(layout_);
      const TimePoint began = SteadyClock().now();
      const auto status = live();
      if (status && (status->success() || leaving_)) return 0;
      if (!std::filesystem::exists(layout_.settings())) return 0;  // process mode was deleted
      log(LogLevel::warning, "agent", "the agent ended with {} and is started again",
          status ? status->description() : "no status");
      if (SteadyClock().now() - began > kLongLife) pause = kFirstPause;
      rest(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
    return 0;
  }

 private:
  // The rest of the life of an agent that others started. True if it ended on purpose.
  bool accompany() {
    const auto agent = find_agent(layout_);
    const auto pidfd = agent ? watch_process(agent->pid) : std::nullopt;
    while (pidfd && find_agent(layout_)) {
      std::array slots{pollfd{.fd = pidfd->get(), .events = POLLIN, .revents = 0},
                       pollfd{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
      ::poll(slots.data(), slots.size(), -1);
      if (slots[0].revents != 0) break;
      while (const auto number = signals_.take()) {
        if (*number == SIGCHLD) continue;
        leaving_ = true;
        signal_process(*pidfd, SIGTERM);
      }
    }
    return leaving_ || agent_ended_on_purpose(layout_);
  }

  // One life of the agent.
  std::optional<ExitStatus> live() {
    auto agent = ChildProcess::spawn(
        {.program = program_,
         .arguments = {"agent", "--root", layout_.root, "--supervisor", std::to_string(::getpid())},
         .files = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}},
         .new_session = false});
    if (!agent) {
      log(LogLevel::error, "agent", "{}", agent.error().message());
      return std::nullopt;
    }
    for (;;) {
      // Before the others, so that its status is not lost among theirs.
      if (const auto status = agent->try_wait()) return status;
      reap_orphans(agent->pid());
      pollfd slot{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&slot, 1, -1);
      while (const auto number = signals_.take()) {
        if (*number == SIGCHLD) continue;
        leaving_ = true;
        agent->signal(SIGTERM);
      }
    }
  }

  static void reap_orphans(pid_t agent) {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
      if (info.si_pid == 0 || info.si_pid == agent) return;
      ::waitpid(info.si_pid, nullptr, 0);
    }
  }

  void rest(Duration pause) {
    const TimePoint until = SteadyClock().now() + pause;
    while (!leaving_ && SteadyClock().now() < until) {
      pollfd slot{.fd = signals_.fd(), .events = POLLIN, .revents = 0};
      (void)poll_until(std::span(&slot, 1), until);
      while (const auto number = signals_.take()) leaving_ = leaving_ || *number != SIGCHLD;
    }
  }

  const std::string program_;
  const ClusterLayout layout_;
  SignalReader signals_;
  bool leaving_ = false;
};

// The end of what the agent complained about.
std::string complaint(const ClusterLayout& layout) {
  std::ifstream file(layout.agent_log());
  std::string last;
  for (std::string line; std::getline(file, line);) last = line;
  return last.empty() ? "it said nothing" : "it said: " + last;
}

}  // namespace

Result<ChildProcess> start_supervisor(const ClusterLayout& layout, Beside beside) {
  const FileDescriptor out(
      ::open(layout.agent_log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!out) return fail(system_error(errno, fmt::format("open '{}'", layout.agent_log())));
  std::vector<std::string> arguments{"agent", "--supervise", "--root", layout.root};
  if (beside == Beside::yes) arguments.emplace_back("--beside");
  return ChildProcess::spawn({.program = muster_program(),
                              .arguments = std::move(arguments),
                              .working_dir = "/",
                              .files = {{STDOUT_FILENO, out.get()}, {STDERR_FILENO, out.get()}},
                              .new_session = true});
}

int supervise_agent(const std::string& program, const ClusterLayout& layout, Beside beside) {
  auto signals = SignalReader::open({SIGTERM, SIGINT, SIGHUP, SIGCHLD});
  if (!signals) {
    log(LogLevel::error, "agent", "{}", signals.error().message());
    return 1;
  }
  return Supervisor(program, layout, std::move(*signals)).run(beside);
}

Result<void> ensure_agent(const ClusterLayout& layout, TimePoint deadline) {
  bool started = false;
  for (;;) {
    const auto agent = find_agent(layout);
    if (agent && agent->ready) return {};
    if (!agent && !started) {
      if (auto begun = start_supervisor(layout, Beside::no); !begun) return fail(begun.error());
      started = true;
    }
    if (SteadyClock().now() >= deadline) {
      return fail(Errc::not_running,
                  fmt::format("the agent does not start; {}", complaint(layout)));
    }
    ::poll(nullptr, 0, kLookAgainMilliseconds);
  }
}

Result<void> stop_agent(const ClusterLayout& layout, TimePoint deadline) {
  // Its supervisor goes with it, because it ends on purpose; one that was killed comes back.
  while (const auto agent = find_agent(layout)) {
    const bool patient = SteadyClock().now() < deadline;
    if (agent->pid > 0) ::kill(agent->pid, patient ? SIGTERM : SIGKILL);
    ::poll(nullptr, 0, kLookAgainMilliseconds);
    if (SteadyClock().now() >= deadline + seconds(5)) {
      return fail(Errc::timeout, fmt::format("the agent (pid {}) does not end", agent->pid));
    }
  }
  return {};
}

}  // namespace muster::cluster
