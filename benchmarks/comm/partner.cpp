#include "partner.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace muster::bench {

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void Control::say(const std::string& line) {
  const std::string text = line + "\n";
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
    throw std::runtime_error("the other process is gone");
}

std::string Control::hear() {
  std::string line;
  for (;;) {
    pollfd slot{socket_.get(), POLLIN, 0};
    if (::poll(&slot, 1, 120'000) <= 0) throw std::runtime_error("the other process is silent");
    char letter = 0;
    if (::recv(socket_.get(), &letter, 1, 0) <= 0) return {};
    if (letter == '\n') return line;
    line += letter;
  }
}

Pinned::Pinned(int index) {
  ::sched_getaffinity(0, sizeof before_, &before_);
  const int wanted = index % CPU_COUNT(&before_);
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &before_) || seen++ != wanted) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
}

Pinned::~Pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("no socket pair");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Partner::Partner(std::vector<std::string> arguments) {
  auto [mine, theirs] = socket_pair();
  arguments.insert(arguments.end(), {"--control", std::to_string(theirs.get())});
  std::vector<char*> argv{const_cast<char*>("bench_comm")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no new process");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::fcntl(theirs.get(), F_SETFD, 0);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  control_ = std::make_unique<Control>(std::move(mine));
}

Partner::~Partner() {
  control_.reset();
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace muster::bench
