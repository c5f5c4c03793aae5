#include "tests/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace muster::test {

Child::Child(const std::function<void()>& body) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  try {
    body();
  } catch (...) {
    ::_exit(2);
  }
  ::_exit(0);
}

Child::~Child() { kill(); }

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Child::kill() {
  signal(SIGKILL);
  wait();
}

bool Child::ended() const {
  siginfo_t info{};
  return pid_ <= 0 ||
         (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

int Child::wait() {
  if (pid_ <= 0) return 0;
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Milestone::Milestone() {
  if (::pipe2(fds_, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
}

Milestone::~Milestone() {
  ::close(fds_[0]);
  ::close(fds_[1]);
}

void Milestone::reach() const {
  if (::write(fds_[1], "!", 1) != 1) ::_exit(3);
}

bool Milestone::wait() const {
  pollfd slot{fds_[0], POLLIN, 0};
  char byte = 0;
  return ::poll(&slot, 1, 10'000) == 1 && ::read(fds_[0], &byte, 1) == 1;
}

}  // namespace muster::test
