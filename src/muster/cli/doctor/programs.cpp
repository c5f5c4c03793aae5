#include "muster/cli/doctor/programs.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/comm/driver/ucx/load.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/poll.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;

/// The file that a shell would run for this name.
std::optional<std::string> find_program(std::string_view path, std::string_view name) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string file = fmt::format("{}/{}", path.substr(0, end), name);
    if (end > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return std::nullopt;
}

/// True if the program ends with 0 in time.
bool succeeds(const std::string& program, std::vector<std::string> arguments) {
  SpawnOptions options;
  options.program = program;
  options.arguments = std::move(arguments);
  auto child = ChildProcess::spawn(options);
  if (!child) return false;
  const TimePoint deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd slot{child->fd(), POLLIN, 0};
    (void)poll_until({&slot, 1}, deadline);
    if (const auto status = child->try_wait()) return status->success();
  }
  child->signal(SIGKILL);
  return false;
}

/// The first line of what a server on a unix socket answers; an error otherwise.
Result<std::string> ask(const std::string& socket, std::string_view question) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return fail(system_error(ENAMETOOLONG, "connect"));
  std::memcpy(address.sun_path, socket.c_str(), socket.size());
  const FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return fail(system_error(errno, "socket"));
  const timeval patience{2, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail(system_error(errno, "connect"));
  }
  if (::send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) {
    return fail(system_error(errno, "send"));
  }
  char answer[64];
  const ssize_t size = ::recv(fd.get(), answer, sizeof(answer), 0);
  if (size < 0) return fail(system_error(errno, "receive"));
  const std::string_view text(answer, static_cast<std::size_t>(size));
  return std::string(text.substr(0, text.find('\r')));
}

}  // namespace

Check check_redis_server(std::string_view path) {
  if (const auto file = find_program(path, "redis-server")) return good("redis-server", *file);
  return bad("redis-server", "not in PATH: process mode cannot keep its jobs",
             "apt-get install redis-server, or name your own Redis under 'redis_info'");
}

std::string docker_socket() {
  constexpr std::string_view kScheme = "unix://";
  const char* host = std::getenv("DOCKER_HOST");
  if (host != nullptr && std::string_view(host).starts_with(kScheme)) {
    return host + kScheme.size();
  }
  return "/var/run/docker.sock";
}

Check check_docker(const std::string& socket) {
  const auto answer = ask(socket, "GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n");
  if (answer && answer->starts_with("HTTP/1") && answer->find(" 200") != std::string::npos) {
    return good("docker", socket);
  }
  const std::string why = answer ? fmt::format("answers '{}'", *answer) : answer.error().message();
  const bool denied = !answer && answer.error().code().value() == EACCES;
  return warning("docker",
                 fmt::format("{}: {}; components with an 'image' cannot run here", socket, why),
                 denied ? "add yourself to the group docker, and log in again"
                        : "apt-get install docker.io, and start it: systemctl start docker");
}

Check check_python_package(std::string_view path) {
  const auto python = find_program(path, "python3");
  if (!python) {
    return warning("python", "no python3 in PATH; Python components cannot run",
                   "apt-get install python3");
  }
  if (succeeds(*python, {"-c", "import muster.communication"})) {
    return good("python", fmt::format("{} imports muster", *python));
  }
  return warning("python", fmt::format("{} does not import muster", *python),
                 "pip install . in the checkout, or activate the environment that has it");
}

Check check_ucx() {
  if (!comm::ucx_built()) {
    return warning("ucx", "not in this build; RDMA networks are used through TCP",
                   "apt-get install libucx-dev, and build again");
  }
  if (const auto loaded = comm::load_ucx(); !loaded) {
    return bad("ucx", loaded.error().message(), "apt-get install libucx0");
  }
  return good("ucx", "its module loads");
}

}  // namespace muster::cli
