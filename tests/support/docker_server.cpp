#include "tests/support/docker_server.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/mount.h>
#include <unistd.h>
#include <vector>

#include "muster/base/clock.h"
#include "muster/cluster/launch/docker/docker_engine.h"
#include "muster/net/http/unix_http.h"
#include "muster/runtime/child_process.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/program_path.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

void run(const std::string& name, std::vector<std::string> arguments) {
  auto child = ChildProcess::spawn(
      {.program = find_program(name).value(), .arguments = std::move(arguments)});
  if (!child) throw std::runtime_error(child.error().message());
  std::array slots{pollfd{.fd = child->fd(), .events = POLLIN, .revents = 0}};
  (void)poll_until(slots, SteadyClock().now() + seconds(30));
  const auto status = child->try_wait();
  if (!status || !status->success()) throw std::runtime_error(name + " failed");
}

void run_engine(const std::string& folder) {
  const int out = ::open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  const std::vector<std::string> words{"dockerd",
                                       "--data-root",
                                       folder + "/data",
                                       "--exec-root",
                                       folder + "/exec",
                                       "-H",
                                       "unix://" + folder + "/socket",
                                       "--pidfile",
                                       folder + "/pid",
                                       "--storage-driver",
                                       "vfs",
                                       "--iptables=false",
                                       "--ip6tables=false",
                                       "--bridge=none"};
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(find_program("dockerd").value().c_str(), arguments.data());
  ::_exit(127);
}

}  // namespace

std::string DockerServer::why_not() {
  if (::geteuid() != 0) return "starting a Docker engine needs root";
  for (const char* const program : {"dockerd", "busybox", "tar"}) {
    if (!find_program(program)) return std::string(program) + " is not installed";
  }
  return {};
}

DockerServer::DockerServer() {
  const std::string folder = folder_.path().string();
  process_ = std::make_unique<Child>([&] { run_engine(folder); });
  ::setenv("DOCKER_HOST", ("unix://" + folder + "/socket").c_str(), 1);
  await();
  import_image();
}

DockerServer::~DockerServer() {
  ::unsetenv("DOCKER_HOST");
  process_->signal(SIGTERM);  // it ends its containerd, too
  process_->wait();
  ::umount2((folder_.path() / "exec/netns/default").c_str(), MNT_DETACH);
}

void DockerServer::await() const {
  const TimePoint deadline = SteadyClock().now() + seconds(30);
  while (!cluster::DockerEngine::connect()) {
    if (process_->ended() || SteadyClock().now() > deadline) {
      std::ifstream log(folder_.path() / "log");
      std::string last;
      for (std::string line; std::getline(log, line);) last = line;
      throw std::runtime_error("dockerd does not start: " + last);
    }
    ::poll(nullptr, 0, 20);
  }
}

// A file system with nothing but a busybox.
void DockerServer::import_image() const {
  const fs::path root = folder_.path() / "root";
  for (const char* const each : {"bin", "tmp", "proc", "sys", "dev", "etc"})
    fs::create_directories(root / each);
  fs::copy_file(find_program("busybox").value(), root / "bin/busybox");
  for (const char* const each :
       {"sh", "echo", "sleep", "tail", "cat", "true", "yes", "head", "env"})
    fs::create_symlink("busybox", root / "bin" / each);
  const std::string archive = (folder_.path() / "image.tar").string();
  run("tar", {"-C", root.string(), "-cf", archive, "."});
  std::ifstream file(archive, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto response = net::unix_http((folder_.path() / "socket").string(), "POST",
                                       "/v1.40/images/create?fromSrc=-&repo=muster-test&tag=1",
                                       bytes, SteadyClock().now() + seconds(30));
  if (!response || response->status != 200)
    throw std::runtime_error(response ? response->body : response.error().message());
}

}  // namespace muster::test
