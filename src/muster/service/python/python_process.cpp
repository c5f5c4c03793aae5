#include "muster/service/python/python_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "muster/runtime/file_text.h"
#include "muster/runtime/poll.h"
#include "muster/service/python/interpreter.h"

namespace muster::service {

namespace {

using std::chrono::seconds;

constexpr int kProtocol = 1;
constexpr int kSocketFile = 3;
constexpr int kArenaFile = 4;
constexpr std::size_t kMostFunctions = 128;
constexpr std::size_t kMostFunctionBytes = 256 << 20;
/// The longest wait in one piece, so that a dead process is seen even if its end went unnoticed.
constexpr Duration kGlance = seconds(1);

TimePoint now() { return SteadyClock().now(); }

SpawnOptions spawn_options(const PythonProcessOptions& options, int socket, int arena, int out,
                           int err) {
  SpawnOptions spawn;
  spawn.program = options.interpreter;
  spawn.arguments = {"-u", "-m", "muster._runner", fmt::format("--socket={}", kSocketFile),
                     fmt::format("--parent={}", ::getpid())};
  spawn.files = {{STDOUT_FILENO, out}, {STDERR_FILENO, err}, {kSocketFile, socket}};
  if (arena >= 0) {
    spawn.arguments.push_back(fmt::format("--arena={}", kArenaFile));
    spawn.files.emplace_back(kArenaFile, arena);
  }
  if (options.most_memory > 0)
    spawn.arguments.push_back(fmt::format("--memory={}", options.most_memory));
  spawn.environment = function_environment();
  return spawn;
}

pollfd watch(int fd, short events = POLLIN) { return {.fd = fd, .events = events, .revents = 0}; }

}  // namespace

Result<std::unique_ptr<PythonProcess>> PythonProcess::start(ProcessSpawner& spawner,
                                                            const PythonProcessOptions& options,
                                                            int arena) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(system_error(errno, "make a pair of sockets"));
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  auto out = ProcessOutput::make(LogLevel::info);
  if (!out) return fail(out.error());
  auto err = ProcessOutput::make(LogLevel::warning);
  if (!err) return fail(err.error());
  auto child = spawner.spawn(
      spawn_options(options, theirs.get(), arena, out->child_end(), err->child_end()));
  if (!child) return fail(child.error());
  std::unique_ptr<PythonProcess> process(new PythonProcess(
      options, std::move(*child), std::move(ours), std::move(*out), std::move(*err)));
  if (const auto greeted = process->greet(now() + options.start); !greeted)
    return fail(greeted.error());
  return process;
}

PythonProcess::PythonProcess(const PythonProcessOptions& options, ChildProcess child,
                             FileDescriptor socket, ProcessOutput out, ProcessOutput err)
    : options_(options),
      child_(std::move(child)),
      socket_(std::move(socket)),
      out_(std::move(out)),
      err_(std::move(err)) {
  const std::string prefix = fmt::format("[{}] ", child_.pid());
  out_.started(prefix);
  err_.started(prefix);
}

PythonProcess::~PythonProcess() { end(); }

Result<void> PythonProcess::greet(TimePoint deadline) {
  const auto hello = receive(deadline);
  if (!hello) {
    return fail(
        Error(hello.error().code(),
              fmt::format("'{}' cannot run functions: {}\nIt must be able to import muster; "
                          "name another interpreter with --python or MUSTER_PYTHON",
                          options_.interpreter, obituary())));
  }
  const auto version = hello->head.find("hello");
  if (version == hello->head.end() || *version != kProtocol) {
    return fail(std::errc::protocol_not_supported,
                fmt::format("'{}' imports another version of muster, which does not fit this "
                            "worker; name another interpreter with --python or MUSTER_PYTHON",
                            options_.interpreter));
  }
  first_memory_ = own_memory();
  return {};
}

Result<Frame> PythonProcess::exchange(const PackedFrame& request, Deadline deadline) {
  const TimePoint end = deadline.value_or(TimePoint::max());
  ++calls_;
  out_.begin_call();
  err_.begin_call();
  if (const auto sent = send(request, end); !sent) return fail(sent.error());
  auto reply = receive(end);
  out_.drain();
  err_.drain();
  return reply;
}

Result<void> PythonProcess::send(const PackedFrame& request, TimePoint deadline) {
  const std::array files{request.file.get()};
  const std::span<const int> passed =
      request.file ? std::span<const int>(files) : std::span<const int>();
  while (now() < deadline) {
    const PacketStatus status = send_packet(socket_, request.packet, passed);
    if (status == PacketStatus::done) return {};
    if (status != PacketStatus::would_block || has_ended())
      return fail(std::errc::connection_reset, "it ended");
    std::array slots{watch(socket_.get(), POLLOUT), watch(child_.fd())};
    (void)poll_until(slots, std::min(deadline, now() + kGlance));
  }
  return fail(std::errc::timed_out, "it takes no requests");
}

Result<Frame> PythonProcess::receive(TimePoint deadline) {
  for (;;) {
    std::array slots{watch(socket_.get()), watch(out_.fd()), watch(err_.fd()), watch(child_.fd())};
    (void)poll_until(slots, std::min(deadline, now() + kGlance));
    const bool ended = has_ended();  // before the look into the socket: it may have answered
    if (slots[1].revents != 0) out_.drain();
    if (slots[2].revents != 0) err_.drain();
    Packet packet;
    switch (receive_packet(socket_, kMostPacket, packet)) {
      case PacketStatus::done: return read_frame(std::move(packet));
      case PacketStatus::ended: return fail(std::errc::connection_reset, "it ended");
      case PacketStatus::starved:
        return fail(std::errc::too_many_files_open, "no descriptor is free for its answer");
      case PacketStatus::would_block: break;
    }
    if (ended) return fail(std::errc::connection_reset, "it ended");
    if (now() >= deadline) return fail(std::errc::timed_out, "it did not answer in time");
  }
}

bool PythonProcess::learn(std::uint64_t function, std::size_t bytes) {
  const bool full = !known_.empty() &&
                    (known_.size() >= kMostFunctions || known_bytes_ + bytes > kMostFunctionBytes);
  if (full) {
    known_.clear();
    known_bytes_ = 0;
  }
  known_.insert(function);
  known_bytes_ += bytes;
  return full;
}

bool PythonProcess::has_ended() const {
  std::array slots{watch(child_.fd())};
  return over_ || poll_until(slots, TimePoint::min());
}

bool PythonProcess::is_worn() const {
  return calls_ >= options_.most_calls || own_memory() > first_memory_ + options_.most_growth;
}

std::size_t PythonProcess::own_memory() const {
  std::istringstream pages(file_text(fmt::format("/proc/{}/statm", child_.pid())));
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  pages >> size >> resident >> shared;
  return (resident - std::min(shared, resident)) * static_cast<std::size_t>(::getpagesize());
}

void PythonProcess::kill() const {
  // It is not waited for before all of its group is signalled, so the id is still theirs.
  if (!over_) ::kill(-child_.pid(), SIGKILL);
}

void PythonProcess::leave() {
  if (over_) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  std::array slots{watch(child_.fd())};
  const TimePoint deadline = now() + options_.goodbye;
  while (!has_ended() && now() < deadline) (void)poll_until(slots, deadline);
  end();
}

void PythonProcess::end() {
  if (over_) return;
  kill();
  std::array slots{watch(child_.fd())};
  const TimePoint deadline = now() + seconds(10);
  while (!has_ended() && now() < deadline) (void)poll_until(slots, deadline);
  out_.drain();
  err_.drain();
  over_ = true;
  (void)child_.try_wait();
}

std::string PythonProcess::obituary() {
  // Its socket closes a moment before its end can be told from ours.
  std::array slots{watch(child_.fd())};
  const bool by_itself = poll_until(slots, now() + seconds(1));
  end();
  const auto status = child_.try_wait();
  std::string text = by_itself && status ? fmt::format("it ended with {}", status->description())
                                         : "it was killed";
  if (by_itself && status && status->signal == SIGKILL) text += ", perhaps because memory ran out";
  if (const std::string tail = err_.tail(); !tail.empty())
    text += fmt::format("; its last lines:\n{}", tail);
  return text;
}

}  // namespace muster::service
