#include "muster/runtime/signals.h"

#include <cerrno>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

namespace muster {

namespace {

// In a thread that does not block the signal: it blocks it from now on, and sends it once more, to
// whoever reads.
void pass_on(int number, siginfo_t* /*info*/, void* context) {
  ::sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, number);
  ::kill(::getpid(), number);
}

}  // namespace

std::vector<int> not_ignored(std::vector<int> numbers) {
  std::erase_if(numbers, [](int number) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    return action.sa_handler == SIG_IGN;
  });
  return numbers;
}

Result<SignalReader> SignalReader::open(const std::vector<int>& numbers) {
  sigset_t signals;
  sigset_t before;
  ::sigemptyset(&signals);
  for (const int number : numbers) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  FileDescriptor fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) {
    const Error error = system_error(errno, "signalfd");
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(error);
  }
  SignalReader reader(std::move(fd), before);
  struct sigaction passing{};
  passing.sa_sigaction = pass_on;
  passing.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigfillset(&passing.sa_mask);
  for (const int number : numbers) {
    Former& former = reader.formers_.emplace_back();
    former.number = number;
    ::sigaction(number, &passing, &former.action);
  }
  return reader;
}

SignalReader::SignalReader(SignalReader&& other) noexcept
    : fd_(std::move(other.fd_)), before_(other.before_), formers_(std::move(other.formers_)) {}

SignalReader::~SignalReader() {
  if (!fd_) return;
  while (take()) continue;  // those that came too late to be looked at
  for (const Former& former : formers_) ::sigaction(former.number, &former.action, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalReader::take() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace muster
