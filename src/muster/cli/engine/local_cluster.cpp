#include <algorithm>
#include <array>
#include <memory>
#include <ostream>
#include <signal.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/environment.h"
#include "muster/cli/engine/role_process.h"
#include "muster/cli/engine/run_folder.h"
#include "muster/cli/failure.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/resources.h"
#include "muster/runtime/signals.h"

namespace muster::cli {
namespace {

using std::chrono::seconds;

constexpr Duration kUntilReady = seconds(60);
constexpr Duration kGrace = seconds(5);

struct ClusterFlags {
  std::size_t workers = 0;
  std::string host = "127.0.0.1";
  std::string web_port = "0";
  std::size_t threads = 0;
  std::string memory;
  std::string cache;
  std::vector<std::string> spill_dirs;
  std::string python;
  std::string log_level;
  bool insecure = false;
};

/// The children of one `local-cluster`: scheduler first, then web, then workers.
class LocalCluster {
 public:
  LocalCluster(const ClusterFlags& flags, const Io& io, SignalReader signals, RunFolder folder)
      : flags_(flags), io_(io), signals_(std::move(signals)), folder_(std::move(folder)) {}

  int run();

 private:
  enum class Outcome { ready, signal, failed };

  [[nodiscard]] std::vector<std::string> common(std::string role, const std::string& port) const;
  [[nodiscard]] std::vector<std::string> scheduler_arguments(const std::string& port) const;
  [[nodiscard]] std::vector<std::string> web_arguments(const std::string& port) const;
  [[nodiscard]] std::vector<std::string> worker_arguments(std::size_t index) const;

  Outcome bring_up();
  Outcome start(std::string name, std::vector<std::string> arguments);
  /// Serves the children until `done`, a signal, or a role that dies too often.
  template <class Done>
  Outcome serve(TimePoint deadline, Done done);
  bool look_after(RoleProcess& role, TimePoint now);
  void wait_for_events(TimePoint until);
  void end();
  [[nodiscard]] bool anybody_runs() const;

  const ClusterFlags& flags_;
  Io io_;
  SignalReader signals_;
  RunFolder folder_;
  std::vector<std::unique_ptr<RoleProcess>> roles_;
  std::string scheduler_;  // HOST:PORT
};

std::string port_of(const std::string& place) { return place.substr(place.rfind(':') + 1); }

std::vector<std::string> LocalCluster::common(std::string role, const std::string& port) const {
  std::vector<std::string> arguments{std::move(role), "-a", flags_.host, "-p", port};
  if (flags_.insecure) arguments.emplace_back("--insecure");
  if (!flags_.log_level.empty())
    arguments.insert(arguments.end(), {"--log-level", flags_.log_level});
  return arguments;
}

std::vector<std::string> LocalCluster::scheduler_arguments(const std::string& port) const {
  auto arguments = common("scheduler", port);
  arguments.insert(arguments.end(), {"--journal-dir", (folder_.path() / "journal").string()});
  return arguments;
}

std::vector<std::string> LocalCluster::web_arguments(const std::string& port) const {
  auto arguments = common("web", port);
  arguments.insert(arguments.end(), {"-s", scheduler_});
  return arguments;
}

std::vector<std::string> LocalCluster::worker_arguments(std::size_t index) const {
  auto arguments = common("worker", "0");
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("-s", scheduler_);
  add("--name", fmt::format("worker-{}", index));
  add("--cpu", std::to_string(flags_.threads != 0 ? flags_.threads
                                                  : std::max<std::size_t>(
                                                        1, usable_processors() / flags_.workers)));
  add("--memory",
      flags_.memory.empty() ? std::to_string(usable_memory() / flags_.workers) : flags_.memory);
  add("--cache", flags_.cache);
  add("--python", flags_.python);
  for (const std::string& folder : flags_.spill_dirs) add("--spill-dir", folder);
  return arguments;
}

void LocalCluster::wait_for_events(TimePoint until) {
  std::vector<pollfd> slots{{signals_.fd(), POLLIN, 0}};
  for (const auto& role : roles_) {
    slots.push_back({role->output_fd(), POLLIN, 0});
    slots.push_back({role->end_fd(), POLLIN, 0});
    if (const auto restart = role->restart_at()) until = std::min(until, *restart);
  }
  static_cast<void>(poll_until(slots, until));
}

// False when it dies too often.
bool LocalCluster::look_after(RoleProcess& role, TimePoint now) {
  role.read_output();
  if (const auto status = role.ended()) {
    const auto restart = role.plan_restart(now);
    io_.err << fmt::format("muster local-cluster: {} ended: {}{}", role.name(),
                           status->description(),
                           restart ? "; it is started again" : "; that was once too often")
            << std::endl;
    if (!restart) return false;
  }
  if (const auto restart = role.restart_at(); restart && *restart <= now) {
    if (const auto ok = role.start(); !ok) {
      report(io_, ok.error());
      return false;
    }
  }
  return true;
}

template <class Done>
LocalCluster::Outcome LocalCluster::serve(TimePoint deadline, Done done) {
  while (true) {
    if (signals_.take()) return Outcome::signal;
    const TimePoint now = SteadyClock().now();
    for (const auto& role : roles_) {
      if (!look_after(*role, now)) return Outcome::failed;
    }
    if (done()) return Outcome::ready;
    if (now >= deadline) {
      report(io_, fmt::format("{} is not ready after {} s", roles_.back()->name(),
                              std::chrono::duration_cast<seconds>(kUntilReady).count()));
      return Outcome::failed;
    }
    wait_for_events(std::min(deadline, now + seconds(1)));
  }
}

LocalCluster::Outcome LocalCluster::start(std::string name, std::vector<std::string> arguments) {
  roles_.push_back(std::make_unique<RoleProcess>(std::move(name), std::move(arguments)));
  RoleProcess& role = *roles_.back();
  if (const auto ok = role.start(); !ok) {
    report(io_, ok.error());
    return Outcome::failed;
  }
  return serve(SteadyClock().now() + kUntilReady, [&] { return !role.place().empty(); });
}

LocalCluster::Outcome LocalCluster::bring_up() {
  if (const auto outcome = start("scheduler", scheduler_arguments("0")); outcome != Outcome::ready)
    return outcome;
  RoleProcess& scheduler = *roles_.front();
  scheduler_ = scheduler.place();
  // The others look for it where it was.
  scheduler.set_arguments(scheduler_arguments(port_of(scheduler_)));
  io_.out << "scheduler ready at " << scheduler_ << std::endl;
  if (const auto outcome = start("web", web_arguments(flags_.web_port)); outcome != Outcome::ready)
    return outcome;
  RoleProcess& web = *roles_.back();
  const std::string url = web.place();
  web.set_arguments(web_arguments(port_of(url)));
  for (std::size_t i = 0; i < flags_.workers; ++i) {
    if (const auto outcome = start(fmt::format("worker {}", i), worker_arguments(i));
        outcome != Outcome::ready)
      return outcome;
  }
  io_.out << fmt::format("{} worker{} ready\ncluster ready at {}", flags_.workers,
                         flags_.workers == 1 ? "" : "s", url)
          << std::endl;
  return Outcome::ready;
}

bool LocalCluster::anybody_runs() const {
  return std::ranges::any_of(roles_, [](const auto& role) { return role->runs(); });
}

// SIGINT: nobody is left to whom a worker could hand its data.
void LocalCluster::end() {
  for (const auto& role : roles_) role->signal(SIGINT);
  const TimePoint deadline = SteadyClock().now() + kGrace;
  bool killed = false;
  while (anybody_runs()) {
    for (const auto& role : roles_) static_cast<void>(role->ended());
    if (!anybody_runs()) return;
    const TimePoint now = SteadyClock().now();
    if (now >= deadline && !std::exchange(killed, true)) {
      for (const auto& role : roles_) role->signal(SIGKILL);
    }
    std::vector<pollfd> slots;
    for (const auto& role : roles_) slots.push_back({role->end_fd(), POLLIN, 0});
    static_cast<void>(poll_until(slots, now + std::chrono::milliseconds(200)));
  }
}

int LocalCluster::run() {
  auto outcome = bring_up();
  if (outcome == Outcome::ready) outcome = serve(TimePoint::max(), [] { return false; });
  end();
  return outcome == Outcome::failed ? kFailed : kDone;
}

void check(const ClusterFlags& flags) {
  for (const std::string* const size : {&flags.memory, &flags.cache}) {
    if (!size->empty() && !parse_cache_size(*size))
      throw UsageError(fmt::format("'{}' is not a size (4g) or a share (45%)", *size));
  }
}

int run(const ClusterFlags& flags, const Io& io) {
  check(flags);
  auto signals = SignalReader::open(not_ignored({SIGTERM, SIGINT, SIGHUP}));
  if (!signals) return report(io, signals.error());
  auto folder = RunFolder::make(std::filesystem::temp_directory_path());
  if (!folder) return report(io, folder.error());
  return LocalCluster(flags, io, *std::move(signals), *std::move(folder)).run();
}

}  // namespace

Action set_up_local_cluster(CLI::App& parser, Io io) {
  auto flags = std::make_shared<ClusterFlags>();
  parser.add_option("-n,--workers", flags->workers, "How many workers")
      ->required()
      ->check(CLI::Range(1u, 1024u).description(""))
      ->type_name("N");
  parser.add_option("-a,--address", flags->host, "Where all roles listen")
      ->type_name("ADDR")
      ->capture_default_str();
  parser
      .add_option("--web-port", flags->web_port,
                  "The port of the web role; a free one if not given")
      ->type_name("PORT");
  parser
      .add_option("--cpu", flags->threads,
                  "Threads of each worker; they share the processors if not given")
      ->type_name("N");
  parser
      .add_option("--memory", flags->memory,
                  "What each worker may use in all; they share the machine's if not given")
      ->type_name("SIZE|PERCENT");
  parser.add_option("--cache", flags->cache, "How much of it holds chunks; half if not given")
      ->type_name("SIZE|PERCENT");
  parser
      .add_option("--spill-dir", flags->spill_dirs,
                  "Where chunks go when the cache is full; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  parser.add_option("--python", flags->python, "The interpreter that runs Python functions")
      ->type_name("FILE");
  parser.add_option("--log-level", flags->log_level, "What the roles log; warning if not given")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}).description(""))
      ->type_name("debug|info|warning|error|off");
  parser.add_flag("--insecure", flags->insecure,
                  "Let anybody in who can reach the address, without MUSTER_SECRET");
  return [flags, io] { return run(*flags, io); };
}

}  // namespace muster::cli
