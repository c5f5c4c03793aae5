#include "muster/cluster/node/redis_host.h"

#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <string_view>

#include <fmt/format.h>

#include "muster/cluster/errc.h"
#include "muster/cluster/launch/process/exit_record.h"
#include "muster/cluster/launch/process/marked_processes.h"
#include "muster/cluster/launch/process/rank_environment.h"
#include "muster/net/errc.h"
#include "muster/net/redis/redis_client.h"
#include "muster/runtime/program_path.h"

namespace muster::cluster {
namespace {

using std::chrono::seconds;

constexpr int kAskRedisAgainMilliseconds = 5;
constexpr Duration kAnswerTime = seconds(2);
constexpr Duration kStopTime = seconds(10);

// As Redis reads a word of its configuration that may hold anything.
std::string redis_word(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      text += fmt::format("\\{}", c);
    else if (byte < ' ' || byte == 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + '"';
}

std::string configuration(const ClusterLayout& layout, const ProcessSettings& settings) {
  std::string text = fmt::format(
      "port {}\nbind 127.0.0.1\nunixsocket {}\nunixsocketperm 700\ndir {}\ndaemonize no\n"
      "logfile {}\nloglevel warning\nset-proc-title no\nsave \"\"\nappendonly yes\n"
      // A change is on the disk before anybody acts on it.
      "appendfsync always\naof-load-truncated yes\n",
      settings.redis_port, redis_word(layout.redis_socket()), redis_word(layout.redis()),
      redis_word(layout.redis() + "/log"));
  if (!settings.redis_password.empty())
    text += fmt::format("requirepass {}\n", redis_word(settings.redis_password));
  return text;
}

// In the environment of ours. A file with its pid would not do: an agent may be killed before it
// has written it.
std::string mark(const ProcessSettings& settings) {
  return fmt::format("MUSTER_REDIS={}", settings.cluster_id);
}

Result<std::string> server_program() {
  if (auto program = find_program("redis-server")) return std::move(*program);
  return fail(Errc::unavailable,
              "redis-server is not installed; install it (Debian: apt-get install redis-server), "
              "or name a server of yours in the settings (redis_mode: customized)");
}

}  // namespace

bool RedisHost::answers() const {
  return net::RedisClient(settings_.redis_address(layout_), kAnswerTime)
      .command({"PING"})
      .has_value();
}

std::vector<pid_t> RedisHost::running() const { return marked_processes(mark(settings_)); }

Result<void> RedisHost::ensure(TimePoint deadline) {
  if (child_) (void)child_->try_wait();  // so that a dead one does not look alive
  while (!answers()) {
    if (settings_.own_redis && running().empty()) {
      if (auto started = start(); !started) return started;
    }
    if (SteadyClock().now() >= deadline) {
      return fail(Errc::unavailable, fmt::format("Redis does not answer at {}",
                                                 settings_.redis_address(layout_).description()));
    }
    ::poll(nullptr, 0, kAskRedisAgainMilliseconds);
    if (child_) (void)child_->try_wait();
  }
  return {};
}

Result<void> RedisHost::check() const {
  if (!settings_.own_redis) {
    const auto reply =
        net::RedisClient(settings_.redis_address(layout_), kAnswerTime).command({"PING"});
    return reply ? Result<void>() : fail(reply.error());
  }
  if (const auto program = server_program(); !program) return fail(program.error());
  if (settings_.redis_port == 0) return {};
  const auto other =
      net::RedisClient({.host = "127.0.0.1", .port = settings_.redis_port}, kAnswerTime)
          .command({"PING"});
  if (!other && other.error().is(net::Errc::unreachable)) return {};
  return fail(Errc::conflict, fmt::format("port {} of redis_info is taken by another program",
                                          settings_.redis_port));
}

Result<void> RedisHost::start() {
  const auto program = server_program();
  if (!program) return fail(program.error());
  std::error_code ignored;
  std::filesystem::create_directories(layout_.redis(), ignored);
  if (auto written = write_durably(layout_.redis(), "conf", configuration(layout_, settings_));
      !written)
    return written;
  auto child =
      ChildProcess::spawn({.program = *program,
                           .arguments = {layout_.redis() + "/conf"},
                           .environment = merged_environment(own_environment(), {mark(settings_)}),
                           .working_dir = layout_.redis(),
                           .new_session = true});
  if (!child) return fail(child.error());
  child_.emplace(std::move(*child));
  return {};
}

void RedisHost::stop() {
  if (!settings_.own_redis) return;
  const TimePoint deadline = SteadyClock().now() + kStopTime;
  for (auto servers = running(); !servers.empty(); servers = running()) {
    for (const pid_t pid : servers) ::kill(pid, SteadyClock().now() < deadline ? SIGTERM : SIGKILL);
    ::poll(nullptr, 0, kAskRedisAgainMilliseconds);
    if (child_) (void)child_->try_wait();
  }
}

}  // namespace muster::cluster
