#include "muster/cluster/launch/docker/docker_shim.h"

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "muster/base/wall_clock.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/launch/docker/docker_engine.h"
#include "muster/cluster/launch/process/claim.h"
#include "muster/cluster/launch/process/output_log.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/signals.h"

namespace muster::cluster {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kNotStarted = 126;
constexpr int kSignalBase = 128;
constexpr int kLastSignal = 64;

Result<LaunchOrder> read_docker_order(const std::string& folder) {
  std::ifstream file(folder + "/" + kDockerOrderFile);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const json document = json::parse(text);
    LaunchOrder order{
        .id = document.at("id"),
        .folder = folder,
        .command = document.at("command"),
        .environment = document.at("environment"),
        .working_dir = document.at("working_dir"),
        .limits = {.cpu_milli = document.at("cpu_milli"), .memory = document.at("memory")},
        .logs = {.max_size = document.at("log_bytes"), .keep = document.at("log_keep")},
        .grace = milliseconds(document.at("grace_ms")),
        .image = document.at("image")};
    for (const auto& mount : document.at("mounts")) {
      order.mounts.push_back({.source = mount.at("source"),
                              .target = mount.at("target"),
                              .read_only = mount.at("read_only")});
    }
    return order;
  } catch (const std::exception& error) {
    return fail(Errc::corrupt_state, std::string("the order cannot be read: ") + error.what());
  }
}

// An engine reports the end by a signal as a shell does.
ExitStatus status_of(const ContainerEnd& end) {
  const bool by_signal = end.exit_code > kSignalBase && end.exit_code <= kSignalBase + kLastSignal;
  return by_signal ? ExitStatus{.signal = end.exit_code - kSignalBase}
                   : ExitStatus{.code = end.exit_code};
}

class ContainerLife {
 public:
  ContainerLife(LaunchOrder order, DockerEngine engine, SignalReader signals, OutputLog& log)
      : order_(std::move(order)),
        engine_(std::move(engine)),
        signals_(std::move(signals)),
        log_(log) {}

  Result<ExitRecord> run() {
    ExitRecord record{.started_ms = wall_clock()};
    auto container = engine_.create(order_);
    if (!container) return fail(container.error());
    container_ = *container;
    auto lived = live(record);
    (void)engine_.remove(container_);
    record.ended_ms = wall_clock();
    if (!lived) return fail(lived.error());
    return record;
  }

 private:
  Result<void> live(ExitRecord& record) {
    if (auto started = engine_.start(container_); !started) return started;
    auto logs = engine_.begin_logs(container_);
    if (!logs) return fail(logs.error());
    auto end = engine_.begin_wait(container_);
    if (!end) return fail(end.error());
    std::string answer;
    while (!end->response().complete()) {
      wait(*logs, *end);
      take_signals();
      take_logs(*logs, SteadyClock().now());
      if (readable(end->fd())) {
        if (auto got = end->receive(answer, SteadyClock().now() + seconds(5)); !got) return got;
      }
      kill_if_due();
    }
    // What it printed last may still be on its way; the stream ends with the container.
    const TimePoint deadline = SteadyClock().now() + seconds(5);
    while (!logs_ended_ && SteadyClock().now() < deadline) take_logs(*logs, deadline);
    const auto state = engine_.inspect(container_);
    if (!state) return fail(state.error());
    record.status = status_of(*state);
    record.out_of_memory = state->out_of_memory;
    return {};
  }

  static bool readable(int fd) {
    pollfd slot{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&slot, 1, 0) == 1;
  }

  void wait(const net::UnixHttpExchange& logs, const net::UnixHttpExchange& end) const {
    std::array slots{pollfd{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = logs_ended_ ? -1 : logs.fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = end.fd(), .events = POLLIN, .revents = 0}};
    (void)poll_until(slots, kill_at_.value_or(SteadyClock().now() + std::chrono::hours(1)));
  }

  // A stream that breaks loses output, not the container.
  void take_logs(net::UnixHttpExchange& logs, TimePoint deadline) {
    if (logs_ended_ || (deadline <= SteadyClock().now() && !readable(logs.fd()))) return;
    std::string frames;
    const auto got = logs.receive(frames, deadline + seconds(1));
    log_.write(reader_.take(frames));
    logs_ended_ = !got || logs.response().complete();
  }

  void take_signals() {
    while (const auto number = signals_.take()) {
      if (*number != SIGTERM) continue;
      (void)engine_.kill(container_, "SIGTERM");
      if (!kill_at_) kill_at_ = SteadyClock().now() + order_.grace;
    }
  }

  void kill_if_due() {
    if (!kill_at_ || SteadyClock().now() < *kill_at_) return;
    (void)engine_.kill(container_, "SIGKILL");
    kill_at_ = SteadyClock().now() + seconds(1);
  }

  const LaunchOrder order_;
  DockerEngine engine_;
  SignalReader signals_;
  OutputLog& log_;
  DockerLogReader reader_;
  std::string container_;
  std::optional<TimePoint> kill_at_;
  bool logs_ended_ = false;
};

Result<ExitRecord> run_container(const std::string& folder, SignalReader signals,
                                 std::optional<OutputLog>& log) {
  auto order = read_docker_order(folder);
  if (!order) return fail(order.error());
  log.emplace(folder, order->logs.max_size, order->logs.keep);
  auto engine = DockerEngine::connect();
  if (!engine) return fail(engine.error());
  return ContainerLife(std::move(*order), std::move(*engine), std::move(signals), *log).run();
}

}  // namespace

Result<void> write_docker_order(const LaunchOrder& order) {
  json mounts = json::array();
  for (const auto& mount : order.mounts) {
    mounts.push_back(
        {{"source", mount.source}, {"target", mount.target}, {"read_only", mount.read_only}});
  }
  const json document{{"id", order.id},
                      {"command", order.command},
                      {"environment", order.environment},
                      {"working_dir", order.working_dir},
                      {"cpu_milli", order.limits.cpu_milli},
                      {"memory", order.limits.memory},
                      {"log_bytes", order.logs.max_size},
                      {"log_keep", order.logs.keep},
                      {"grace_ms", order.grace.count()},
                      {"image", order.image},
                      {"mounts", mounts}};
  return write_durably(order.folder, kDockerOrderFile,
                       document.dump(-1, ' ', false, json::error_handler_t::replace));
}

int run_docker_shim(const std::string& folder) {
  auto signals = SignalReader::open({SIGTERM, SIGINT, SIGHUP, SIGPIPE});
  if (!signals) return kNotStarted;
  const auto claim = take_claim(folder, shim_claim_text(::getpid()));
  if (!claim || !*claim) return 0;
  std::optional<OutputLog> log;
  auto record = run_container(folder, std::move(*signals), log);
  if (!record) {
    record = ExitRecord{.status = {.code = kNotStarted}, .failure = record.error().message()};
    if (log) log->write("[muster: " + record->failure + "]\n");
  }
  (void)write_durably(folder, kExitFile, record->text());
  return record->status.shell_code();
}

}  // namespace muster::cluster
