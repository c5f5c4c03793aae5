#include "muster/cluster/node/process_mode.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "muster/base/suggest.h"
#include "muster/base/wall_clock.h"
#include "muster/cluster/errc.h"
#include "muster/cluster/node/component_environment.h"
#include "muster/cluster/node/daemon.h"
#include "muster/cluster/node/redis_host.h"
#include "muster/net/errc.h"
#include "muster/net/redis/redis_subscriber.h"
#include "muster/runtime/interrupt.h"

namespace muster::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAgentPatience = seconds(20);
constexpr Duration kRedisPatience = seconds(10);
constexpr int kLookForAgentMilliseconds = 20;

Result<void> make_root(const ClusterLayout& layout) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(layout.root).parent_path(), error);
  if (::mkdir(layout.root.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(system_error(errno, fmt::format("make '{}'", layout.root)));
  }
  struct stat status{};
  if (::lstat(layout.root.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid() || ::chmod(layout.root.c_str(), 0700) != 0) {
    return fail(Errc::unavailable, fmt::format("'{}' is not a folder of ours", layout.root));
  }
  return {};
}

// Asks again while Redis is away: the agent brings it back. What is asked bears being asked twice.
template <class Question>
auto patiently(const Question& question) {
  const TimePoint deadline = SteadyClock().now() + kRedisPatience;
  for (;;) {
    auto answer = question();
    if (answer || !answer.error().is(net::Errc::unreachable) || SteadyClock().now() >= deadline)
      return answer;
    ::poll(nullptr, 0, kLookForAgentMilliseconds);
  }
}

}  // namespace

ProcessMode::ProcessMode(ClusterLayout layout, ProcessSettings settings)
    : layout_(std::move(layout)),
      settings_(std::move(settings)),
      store_(std::make_unique<JobStore>(settings_.redis_address(layout_), settings_.cluster_id)) {}

Result<void> ProcessMode::create(const ClusterLayout& layout, ProcessSettings settings) {
  if (std::filesystem::exists(layout.settings())) {
    return fail(Errc::already_exists,
                fmt::format("process mode is set up already, in '{}'; 'muster process delete' "
                            "removes it, 'muster process setting set' changes it",
                            layout.root));
  }
  if (auto good = RedisHost(layout, settings).check(); !good) return good;
  if (auto made = make_root(layout); !made) return made;
  settings.cluster_id = fresh_id("");
  if (settings.own_redis && settings.redis_port != 0 && settings.redis_password.empty()) {
    settings.redis_password = fresh_id("") + fresh_id("");  // a port is open to all users
  }
  if (auto saved = save_settings(layout, settings); !saved) return saved;
  auto started = cluster::ensure_agent(layout, SteadyClock().now() + kAgentPatience);
  if (!started) (void)delete_process_mode(layout);
  return started;
}

Result<ProcessMode> ProcessMode::open(const ClusterLayout& layout) {
  auto settings = load_settings(layout);
  if (!settings) return fail(settings.error());
  return ProcessMode(layout, std::move(*settings));
}

Result<void> ProcessMode::ensure_agent() const {
  auto there = cluster::ensure_agent(layout_, SteadyClock().now() + kAgentPatience);
  if (there) return there;
  return fail(Errc::not_running,
              fmt::format("{} (more in '{}')", there.error().message(), layout_.agent_log()));
}

JobState ProcessMode::fresh_job(const JobSpec& spec, const std::string& schedule) const {
  std::error_code ignored;
  return {.id = fresh_id("job"),
          .spec = spec,
          .schedule = schedule,
          .working_dir = std::filesystem::current_path(ignored).string(),
          .environment = carried_environment(),
          .submitted_ms = wall_clock()};
}

Result<std::string> ProcessMode::start(const JobSpec& spec) {
  if (auto there = ensure_agent(); !there) return fail(there.error());
  const JobState job = fresh_job(spec, {});
  if (auto stored = patiently([&] { return store_->submit({job}); }); !stored)
    return fail(stored.error());
  return job.id;
}

Result<void> ProcessMode::start(const ScheduleSpec& schedule) {
  if (auto there = ensure_agent(); !there) return there;
  const auto known = patiently([&] { return store_->schedules(); });
  if (!known) return fail(known.error());
  if (known->contains(schedule.name)) {
    return fail(Errc::already_exists,
                fmt::format("there is a schedule '{}' already", schedule.name));
  }
  std::vector<JobState> jobs;
  for (const JobSpec& spec : schedule.jobs()) jobs.push_back(fresh_job(spec, schedule.name));
  return patiently([&] { return store_->submit(jobs, schedule.name); });
}

Result<void> ProcessMode::ask(Ticket::Kind kind, const std::string& job) {
  if (auto there = ensure_agent(); !there) return there;
  const auto names = patiently([&] { return store_->job_names(); });
  if (!names) return fail(names.error());
  if (std::ranges::find(*names, job) == names->end()) {
    return fail(Errc::not_found,
                fmt::format("there is no job '{}'{}", job, did_you_mean(job, *names)));
  }
  const Ticket ticket = Ticket::make(kind, job);
  return patiently([&] { return store_->push(ticket); });
}

Result<void> ProcessMode::stop(const std::string& job) { return ask(Ticket::Kind::stop, job); }
Result<void> ProcessMode::remove(const std::string& job) { return ask(Ticket::Kind::remove, job); }

Result<void> ProcessMode::stop_schedule(const std::string& schedule) {
  if (auto there = ensure_agent(); !there) return there;
  const auto known = patiently([&] { return store_->schedules(); });
  if (!known) return fail(known.error());
  const auto found = known->find(schedule);
  if (found == known->end()) {
    std::vector<std::string> names;
    for (const auto& [name, jobs] : *known) names.push_back(name);
    return fail(Errc::not_found, fmt::format("there is no schedule '{}'{}", schedule,
                                             did_you_mean(schedule, names)));
  }
  for (const std::string& job : found->second) {
    if (auto asked = patiently([&] { return store_->push(Ticket::make(Ticket::Kind::stop, job)); });
        !asked)
      return asked;
  }
  return patiently([&] { return store_->remove_schedule(schedule); });
}

Result<void> ProcessMode::change_setting(const std::string& key, const std::string& value) {
  auto changed = with_setting(settings_, key, value);
  if (!changed) return fail(changed.error());
  if (changed->redis_address(layout_) != settings_.redis_address(layout_) ||
      changed->redis_port != settings_.redis_port) {
    return fail(Errc::conflict,
                fmt::format("{} cannot be changed while process mode is set up: delete it and "
                            "create it with other settings",
                            key));
  }
  if (auto saved = save_settings(layout_, *changed); !saved) return saved;
  settings_ = std::move(*changed);
  if (auto there = ensure_agent(); !there) return there;
  return patiently([&] { return store_->push(Ticket::make(Ticket::Kind::settings, "")); });
}

Result<std::vector<JobState>> ProcessMode::jobs() {
  if (auto there = ensure_agent(); !there) return fail(there.error());
  auto jobs = patiently([&] { return store_->jobs(); });
  const auto order = [](const JobState& job) { return std::tie(job.submitted_ms, job.spec.name); };
  if (jobs) std::ranges::sort(*jobs, {}, order);
  return jobs;
}

Result<JobState> ProcessMode::job(const std::string& name) {
  if (auto there = ensure_agent(); !there) return fail(there.error());
  auto job = patiently([&] { return store_->job(name); });
  if (!job) return fail(job.error());
  if (*job) return std::move(**job);
  const auto names = patiently([&] { return store_->job_names(); });
  return fail(Errc::not_found,
              fmt::format("there is no job '{}'{}", name,
                          did_you_mean(name, names ? *names : std::vector<std::string>())));
}

Result<std::map<std::string, std::vector<std::string>>> ProcessMode::schedules() {
  if (auto there = ensure_agent(); !there) return fail(there.error());
  return patiently([&] { return store_->schedules(); });
}

Result<ProcessStatus> ProcessMode::status() {
  ProcessStatus status{.agent = find_agent(layout_), .redis = store_->address().description()};
  if (!status.agent) return status;
  auto facts = patiently([&] { return store_->agent(); });
  if (!facts) return fail(facts.error());
  status.facts = std::move(*facts);
  const auto jobs = patiently([&] { return store_->jobs(); });
  if (!jobs) return fail(jobs.error());
  for (const JobState& job : *jobs) ++status.jobs[job.phase];
  return status;
}

void ProcessMode::wait_for_change(Duration longest) {
  const TimePoint deadline = SteadyClock().now() + longest;
  const auto interrupt = Interrupt::create();
  auto channel = net::RedisSubscriber::open(store_->address(), store_->key("changed"), deadline);
  if (interrupt && channel && channel->wait(deadline, *interrupt)) return;
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - SteadyClock().now());
  ::poll(nullptr, 0, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
}

}  // namespace muster::cluster
