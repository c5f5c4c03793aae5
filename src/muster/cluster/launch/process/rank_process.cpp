#include "muster/cluster/launch/process/rank_process.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace muster::cluster {
namespace {

constexpr int kWatchFd = 3;
constexpr int kReportFd = 4;

struct Pipe {
  FileDescriptor in;
  FileDescriptor out;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_error(errno, "pipe"));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{.in = FileDescriptor(ends[0]), .out = FileDescriptor(ends[1])};
}

}  // namespace

Result<RankProcess> RankProcess::start(Options options) {
  std::array<Pipe, 3> pipes;
  for (Pipe& pipe : pipes) {
    auto made = make_pipe();
    if (!made) return fail(made.error());
    pipe = std::move(*made);
  }
  auto& [output, errors, report] = pipes;
  options.order.watch_fd = kWatchFd;
  options.order.report_fd = kReportFd;
  SpawnOptions spawn{.program = options.shim,
                     .arguments = options.order.arguments(),
                     .environment = std::move(options.environment),
                     .files = {{STDOUT_FILENO, output.out.get()},
                               {STDERR_FILENO, errors.out.get()},
                               {kWatchFd, options.watch.get()},
                               {kReportFd, report.out.get()}}};
  if (options.reads_stdin && ::fcntl(STDIN_FILENO, F_GETFD) >= 0) {
    spawn.files.emplace_back(STDIN_FILENO, STDIN_FILENO);
    // A process group in the background may not read from its own terminal. All other ranks stay in
    // one session: between sessions the kernel does not let a rank yield to another.
    spawn.new_session = ::isatty(STDIN_FILENO) == 1;
  }
  auto shim = ChildProcess::spawn(spawn);
  if (!shim) return fail(shim.error());
  return RankProcess(std::move(*shim), std::move(output.in), std::move(errors.in),
                     std::move(report.in));
}

std::optional<ExitRecord> RankProcess::try_end() {
  const auto status = shim_.try_wait();
  if (!status) return std::nullopt;
  std::array<char, 8192> text{};
  const ssize_t count = ::read(report_.get(), text.data(), text.size());
  auto record = ExitRecord::parse({text.data(), count > 0 ? static_cast<std::size_t>(count) : 0});
  // A shim that was killed says nothing.
  return record ? record : ExitRecord{.status = *status};
}

}  // namespace muster::cluster
