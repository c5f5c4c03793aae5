#include "tests/support/redis_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "muster/base/clock.h"
#include "muster/net/redis/redis_client.h"
#include "muster/runtime/fd.h"

namespace muster::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Another process may take it before the server does; `start` tries again then.
std::uint16_t free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no free port");
  }
  return ntohs(address.sin_port);
}

void run_server(const std::vector<std::string>& words, const std::string& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(127);
}

}  // namespace

RedisServer::RedisServer(RedisServerOptions options) : options_(std::move(options)) { start(); }

net::RedisAddress RedisServer::address() const {
  if (!options_.tcp) return unix_address();
  return {.host = "127.0.0.1", .port = port_, .password = options_.password};
}

net::RedisAddress RedisServer::unix_address() const {
  return {.unix_path = (folder_.path() / "redis.sock").string(), .password = options_.password};
}

void RedisServer::start() {
  constexpr int kAttempts = 5;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (options_.tcp && port_ == 0) port_ = free_port();
    if (try_start()) return;
    port_ = 0;
  }
  throw std::runtime_error("redis-server does not start");
}

bool RedisServer::try_start() {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--unixsocket",
                                 unix_address().unix_path,
                                 "--unixsocketperm",
                                 "700",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--dir",
                                 folder_.path().string(),
                                 "--daemonize",
                                 "no"};
  if (!options_.password.empty()) words.insert(words.end(), {"--requirepass", options_.password});
  const std::string log = (folder_.path() / "log").string();
  process_ = std::make_unique<Child>([&] { run_server(words, log); });
  const TimePoint deadline = SteadyClock().now() + seconds(10);
  while (!answers()) {
    if (process_->ended() || SteadyClock().now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

bool RedisServer::answers() const {
  return net::RedisClient(address(), seconds(1)).command({"PING"}).has_value();
}

void RedisServer::kill() { process_->kill(); }
void RedisServer::pause() const { process_->signal(SIGSTOP); }
void RedisServer::resume() const { process_->signal(SIGCONT); }

}  // namespace muster::test
