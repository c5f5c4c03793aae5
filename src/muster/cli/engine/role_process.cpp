#include "muster/cli/engine/role_process.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/runtime/program_path.h"

namespace muster::cli {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::string_view kReady = " ready at ";

}  // namespace

Result<void> RoleProcess::start() {
  restart_at_.reset();
  place_.clear();
  begun_.clear();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error(errno, "make a pipe"));
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = arguments_;
  arguments.insert(arguments.end(), {"--end-with", std::to_string(::getpid())});
  auto child = ChildProcess::spawn(
      {.program = own_program(),
       .arguments = std::move(arguments),
       .files = {{STDOUT_FILENO, write_end.get()}, {STDERR_FILENO, STDERR_FILENO}}});
  if (!child) return fail(child.error().within(name_));
  child_ = *std::move(child);
  return {};
}

void RoleProcess::read_output() {
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t got = ::read(output_.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) output_.reset();
    if (got <= 0) return;
    begun_.append(piece.data(), static_cast<std::size_t>(got));
    std::size_t end = 0;
    while ((end = begun_.find('\n')) != std::string::npos) {
      take_line(begun_.substr(0, end));
      begun_.erase(0, end + 1);
    }
    if (begun_.size() > kLongestLine) begun_.clear();
  }
}

void RoleProcess::take_line(const std::string& line) {
  const auto ready = line.find(kReady);
  if (ready != std::string::npos) place_ = line.substr(ready + kReady.size());
}

std::optional<ExitStatus> RoleProcess::ended() {
  if (!child_) return std::nullopt;
  auto status = child_->try_wait();
  if (status) {
    child_.reset();
    output_.reset();
  }
  return status;
}

std::optional<TimePoint> RoleProcess::plan_restart(TimePoint now) {
  restart_at_ = budget_.died(now);
  return restart_at_;
}

void RoleProcess::signal(int number) const {
  if (child_) child_->signal(number);
}

}  // namespace muster::cli
