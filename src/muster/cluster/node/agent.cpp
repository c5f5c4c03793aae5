#include "muster/cluster/node/agent.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/base/wall_clock.h"
#include "muster/cluster/control/control.h"
#include "muster/cluster/control/job_state_json.h"
#include "muster/cluster/control/job_store.h"
#include "muster/cluster/launch/docker/docker_launcher.h"
#include "muster/cluster/launch/process/log_reader.h"
#include "muster/cluster/launch/process/process_launcher.h"
#include "muster/cluster/launch/process/rank_environment.h"
#include "muster/cluster/node/agent_lock.h"
#include "muster/cluster/node/agent_log.h"
#include "muster/cluster/node/component_environment.h"
#include "muster/cluster/node/machine.h"
#include "muster/cluster/node/redis_host.h"
#include "muster/cluster/node/settings.h"
#include "muster/cluster/node/supervision.h"
#include "muster/cluster/node/ticket_bell.h"
#include "muster/runtime/poll.h"
#include "muster/runtime/signals.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kTicketsAtOnce = 256;
constexpr std::size_t kReportedLines = 20;
constexpr Duration kRedisPatience = seconds(10);
constexpr Duration kRetry = milliseconds(200);
constexpr int kNotStartedCode = 126;

class Agent {
 public:
  Agent(ClusterLayout layout, ProcessSettings settings, FileDescriptor lock, SignalReader signals,
        pid_t supervisor, std::unique_ptr<Launcher> processes, std::unique_ptr<Launcher> containers)
      : layout_(std::move(layout)),
        settings_(std::move(settings)),
        lock_(std::move(lock)),
        signals_(std::move(signals)),
        supervision_(layout_, supervisor),
        processes_(std::move(processes)),
        containers_(std::move(containers)),
        machine_(Machine::detect()),
        environment_(own_environment()),
        redis_(layout_, settings_),
        store_(settings_.redis_address(layout_), settings_.cluster_id),
        bell_(settings_.redis_address(layout_), store_.key("tickets"), store_.key("taken")),
        control_({.node_name = machine_.name,
                  .node = machine_.resources,
                  .parallel_level = settings_.parallel_level}) {}

  AgentEnd run() {
    persistently("load the jobs", [&] { return load(); });
    persistently("say who I am", [&] { return describe(); });
    mark_agent_ready(lock_);
    while (!leaving_) {
      take_tickets();
      take_ended();
      act();
      if (idle_too_long()) {
        redis_.stop();
        mark_agent_ended(lock_);
        return AgentEnd::idle;
      }
      if (!leaving_) wait();
    }
    mark_agent_ended(lock_);
    return AgentEnd::asked;
  }

 private:
  // What has to be done with Redis is tried until it is done or we are told to leave: without a
  // store nothing may be started, and what runs goes on by itself.
  template <class Action>
  void persistently(std::string_view what, const Action& action) {
    while (!leaving_) {
      const Result<void> done = action();
      if (done) return;
      log(LogLevel::warning, "agent", "{}: {}", what, done.error().message());
      const auto there = redis_.ensure(SteadyClock().now() + kRedisPatience);
      if (!there) log(LogLevel::error, "agent", "{}", there.error().message());
      std::array slots{pollfd{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
      if (!there) (void)poll_until(slots, SteadyClock().now() + kRetry);
      take_signals();
    }
  }

  Result<void> describe() {
    return store_.describe_agent({{"pid", std::to_string(::getpid())},
                                  {"started", std::to_string(wall_clock())},
                                  {"node", machine_.name},
                                  {"resources", cluster::describe(machine_.resources)},
                                  {"limits", processes_->limits_note()}});
  }

  Result<void> load() {
    if (auto there = redis_.ensure(SteadyClock().now() + kRedisPatience); !there) return there;
    auto jobs = store_.jobs();
    if (!jobs) return fail(jobs.error());
    for (JobState& job : *jobs) control_.load(std::move(job), wall_clock());
    adopt_all();
    return {};
  }

  void adopt_all() {
    std::vector<AttemptRef> attempts;
    for (const auto& [name, job] : control_.jobs()) {
      for (std::size_t i = 0; i < job.instances.size(); ++i) {
        if (job.instances[i].phase == InstancePhase::running)
          attempts.push_back({name, i, job.instances[i].attempt});
      }
    }
    for (const AttemptRef& attempt : attempts) adopt(attempt);
  }

  void adopt(const AttemptRef& attempt) {
    const LaunchOrder order = order_for(attempt);
    const auto adopted = launcher_for(order).adopt(order);
    if (!adopted) return failed(attempt, adopted.error());
    if (*adopted == Adoption::not_started) return control_.not_started(attempt, wall_clock());
    attempts_.emplace(order.folder, attempt);
  }

  Launcher& launcher_for(const LaunchOrder& order) {
    return order.image.empty() ? *processes_ : *containers_;
  }

  LaunchOrder order_for(const AttemptRef& attempt) const {
    const JobState& job = *control_.find(attempt.job);
    const InstanceState& instance = job.instances[attempt.instance];
    const ComponentSpec& component = *job.spec.component(instance.component);
    LaunchOrder order{.id = attempt_id(settings_.cluster_id, job, instance),
                      .folder = layout_.attempt(job.id, instance.name(), attempt.attempt),
                      .command = component.argv(),
                      .limits = component.resources,
                      .logs = component.logs,
                      .image = component.image,
                      .mounts = component.mounts};
    // Folders of this host mean nothing in a container.
    order.working_dir = component.image.empty() && component.working_dir.empty()
                            ? job.working_dir
                            : component.working_dir;
    if (!component.image.empty()) {
      for (MountSpec& mount : order.mounts) {
        if (mount.source.empty()) mount.source = layout_.root + "/data";
      }
      const std::string peers = layout_.discovery(job.id);
      order.mounts.push_back({.source = peers, .target = peers});
    }
    auto variables = component_environment(job, attempt.instance, layout_, machine_);
    variables.push_back("MUSTER_ATTEMPT=" + order.id);
    std::vector<std::string> set;
    for (const auto& [name, value] : component.env) set.push_back(name + "=" + value);
    // An image brings an environment of its own.
    auto base = component.image.empty() ? merged_environment(environment_, job.environment)
                                        : std::vector<std::string>();
    order.environment = merged_environment(merged_environment(std::move(base), set), variables);
    return order;
  }

  void take_signals() {
    while (signals_.take()) leaving_ = true;
  }

  void wait() {
    trim_agent_log(layout_);
    const TimePoint now = SteadyClock().now();
    TimePoint deadline = now + settings_.check_interval;
    if (const auto due = control_.next_due_ms()) {
      deadline =
          std::min(deadline, now + milliseconds(std::max<std::int64_t>(*due - wall_clock(), 0)));
    }
    if (!bell_.arm(settings_.check_interval)) deadline = std::min(deadline, now + kRetry);
    std::array slots{pollfd{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = processes_->fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = containers_->fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = bell_.fd(), .events = POLLIN, .revents = 0},
                     pollfd{.fd = supervision_.fd(), .events = POLLIN, .revents = 0}};
    (void)poll_until(slots, deadline);
    rung_ = slots[3].revents != 0;
    supervision_.look();
    take_signals();
  }

  void take_tickets() {
    if (std::exchange(rung_, false) && !bell_.answer()) {
      persistently("reach Redis", [&] { return store_.ping(); });
    }
    std::vector<std::string> tickets;
    persistently("take tickets", [&]() -> Result<void> {
      auto taken = store_.take_tickets(kTicketsAtOnce);
      if (!taken) return fail(taken.error());
      tickets = std::move(*taken);
      return {};
    });
    for (std::string& text : tickets) {
      follow(text);
      done_tickets_.push_back(std::move(text));
    }
  }

  void follow(const std::string& text) {
    const auto ticket = Ticket::parse(text);
    if (!ticket) return log(LogLevel::warning, "agent", "{}", ticket.error().message());
    switch (ticket->kind) {
      case Ticket::Kind::start: return submit(ticket->job);
      case Ticket::Kind::stop: control_.stop(ticket->job, wall_clock()); return;
      case Ticket::Kind::remove: control_.remove(ticket->job, wall_clock()); return;
      case Ticket::Kind::settings: return read_settings_again();
    }
  }

  void submit(const std::string& name) {
    if (control_.find(name) != nullptr) return;
    persistently("read a job", [&]() -> Result<void> {
      auto job = store_.job(name);
      if (!job) return fail(job.error());
      if (*job) control_.load(std::move(**job), wall_clock());
      return {};
    });
  }

  void read_settings_again() {
    auto settings = load_settings(layout_);
    if (!settings) return log(LogLevel::warning, "agent", "{}", settings.error().message());
    settings_.parallel_level = settings->parallel_level;
    settings_.keep_agent_alive = settings->keep_agent_alive;
    settings_.agent_countdown = settings->agent_countdown;
    settings_.check_interval = settings->check_interval;
    control_.set_parallel_level(settings_.parallel_level);
  }

  void take_ended() {
    for (Launcher* const launcher : {processes_.get(), containers_.get()}) {
      for (const LaunchEnd& end : launcher->take_ended()) {
        const auto place = attempts_.find(end.folder);
        if (place == attempts_.end()) continue;
        const AttemptRef attempt = place->second;
        attempts_.erase(place);
        std::vector<std::string> lines;
        if (!end.record.status.success()) lines = last_log_lines(end.folder, kReportedLines);
        control_.ended(attempt, end.record, std::move(lines), wall_clock());
      }
    }
  }

  // Stores what follows from all that happened, then does it; until nothing follows any more.
  void act() {
    while (!leaving_) {
      const ControlActions actions = control_.take_actions(wall_clock());
      if (actions.empty() && done_tickets_.empty()) return;
      save(actions);
      if (leaving_) return;
      perform(actions);
    }
  }

  void save(const ControlActions& actions) {
    StoreChanges changes;
    for (const auto& name : actions.changed_jobs)
      changes.jobs.emplace_back(name, to_json(*control_.find(name)));
    for (const auto& [name, position] : actions.changed_instances) {
      const JobState& job = *control_.find(name);
      const InstanceState& instance = job.instances[position];
      changes.instances.emplace_back(JobStore::instance_field(job.id, instance.name()),
                                     to_json(instance));
    }
    for (const RemovedJob& removed : actions.removed) {
      // Before it is forgotten: what is forgotten has left nothing behind.
      std::error_code ignored;
      std::filesystem::remove_all(layout_.job(removed.id), ignored);
      changes.removed_jobs.push_back(removed.name);
      for (const auto& instance : removed.instances)
        changes.removed_instances.push_back(JobStore::instance_field(removed.id, instance));
    }
    changes.done_tickets = std::exchange(done_tickets_, {});
    persistently("store the state", [&] { return store_.save(changes); });
  }

  void perform(const ControlActions& actions) {
    for (const AttemptRef& attempt : actions.starts) start(attempt);
    for (const AttemptRef& attempt : actions.stops) {
      const LaunchOrder order = order_for(attempt);
      launcher_for(order).stop(order.folder);
    }
  }

  void start(const AttemptRef& attempt) {
    const LaunchOrder order = order_for(attempt);
    const auto started = launcher_for(order).start(order);
    if (!started) return failed(attempt, started.error());
    attempts_.emplace(order.folder, attempt);
  }

  void failed(const AttemptRef& attempt, const Error& error) {
    control_.ended(attempt, {.status = {.code = kNotStartedCode}, .failure = error.message()}, {},
                   wall_clock());
  }

  bool idle_too_long() {
    if (settings_.keep_agent_alive || control_.running_jobs() + control_.pending_jobs() > 0) {
      idle_since_.reset();
      return false;
    }
    const TimePoint now = SteadyClock().now();
    if (!idle_since_) idle_since_ = now;
    return now - *idle_since_ >= settings_.check_interval * settings_.agent_countdown;
  }

  const ClusterLayout layout_;
  ProcessSettings settings_;
  const FileDescriptor lock_;
  SignalReader signals_;
  Supervision supervision_;
  const std::unique_ptr<Launcher> processes_;
  const std::unique_ptr<Launcher> containers_;
  const Machine machine_;
  const std::vector<std::string> environment_;
  RedisHost redis_;
  JobStore store_;
  TicketBell bell_;
  Control control_;
  std::unordered_map<std::string, AttemptRef> attempts_;  // by folder
  std::vector<std::string> done_tickets_;
  std::optional<TimePoint> idle_since_;
  bool rung_ = false;
  bool leaving_ = false;
};

void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<AgentEnd> run_agent(const ClusterLayout& layout, pid_t supervisor) {
  allow_many_descriptors();
  auto signals = SignalReader::open({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return fail(signals.error());
  auto lock = take_agent_lock(layout);
  if (!lock) return fail(lock.error());
  if (!*lock) return AgentEnd::another_lives;
  auto settings = load_settings(layout);
  if (!settings) return fail(settings.error());
  auto processes = ProcessLauncher::create();
  if (!processes) return fail(processes.error());
  auto containers = DockerLauncher::create();
  if (!containers) return fail(containers.error());
  return Agent(layout, std::move(*settings), std::move(**lock), std::move(*signals), supervisor,
               std::move(*processes), std::move(*containers))
      .run();
}

}  // namespace muster::cluster
