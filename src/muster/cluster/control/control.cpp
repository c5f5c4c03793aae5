#include "muster/cluster/control/control.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/cluster/control/restart.h"
#include "muster/cluster/job/quantity.h"

namespace muster::cluster {
namespace {

// The planner looks at so many waiting jobs, in their order: enough to fill any gap, and little
// work however many wait.
constexpr std::size_t kPlanned = 256;

constexpr int kTimeoutCode = 124;  // as timeout(1) ends with

const ComponentSpec& component_of(const JobState& job, const InstanceState& instance) {
  const ComponentSpec* component = job.spec.component(instance.component);
  MUSTER_ASSERT(component != nullptr, "instances are made from the components");
  return *component;
}

enum class Ready { yes, not_yet, never };

Ready ready(const JobState& job, const Dependency& dependency) {
  Ready result = Ready::yes;
  for (const InstanceState& each : job.instances) {
    if (each.component != dependency.component) continue;
    if (dependency.until == DependsUntil::started) {
      if (each.attempt == 0) result = Ready::not_yet;
    } else if (each.phase == InstancePhase::failed) {
      return Ready::never;
    } else if (each.phase != InstancePhase::succeeded) {
      result = Ready::not_yet;
    }
  }
  return result;
}

Ready ready(const JobState& job, const ComponentSpec& component) {
  Ready result = Ready::yes;
  for (const Dependency& dependency : component.depends_on) {
    const Ready each = ready(job, dependency);
    if (each == Ready::never) return each;
    if (each == Ready::not_yet) result = each;
  }
  return result;
}

}  // namespace

Control::Control(ControlOptions options)
    : options_(std::move(options)), gpu_taken_(options_.node.gpu, false) {}

Control::PendingKey Control::pending_key(const JobState& job) {
  const std::int64_t ageing = PlannerOptions().ageing.count();
  return {job.submitted_ms - job.spec.priority * ageing, job.submitted_ms, job.name()};
}

JobState* Control::job_named(std::string_view job) {
  const auto place = jobs_.find(job);
  return place == jobs_.end() ? nullptr : &place->second;
}

const JobState* Control::find(std::string_view job) const {
  const auto place = jobs_.find(job);
  return place == jobs_.end() ? nullptr : &place->second;
}

InstanceState* Control::current(const AttemptRef& attempt, JobState*& job) {
  job = job_named(attempt.job);
  if (job == nullptr || attempt.instance >= job->instances.size()) return nullptr;
  InstanceState& instance = job->instances[attempt.instance];
  const bool runs = instance.phase == InstancePhase::running && instance.attempt == attempt.attempt;
  return runs ? &instance : nullptr;
}

void Control::changed(const JobState& job, std::size_t position) {
  actions_.changed_instances.emplace(job.name(), position);
}

void Control::load(JobState loaded, std::int64_t now_ms) {
  if (loaded.instances.empty()) loaded.instances = fresh_instances(loaded.spec);
  const std::string name = loaded.name();
  const auto [place, added] = jobs_.try_emplace(name, std::move(loaded));
  if (!added) return;
  JobState& job = place->second;
  if (job.phase == JobPhase::pending) {
    pending_.insert(pending_key(job));
    plan_needed_ = true;
    return;
  }
  if (job.final()) {
    if (job.remove) drop(job);
    return;
  }
  ++running_jobs_;
  if (job.spec.timeout)
    timers_.emplace(job.started_ms + job.spec.timeout->count(), Timer{name, {}});
  for (std::size_t i = 0; i < job.instances.size(); ++i) {
    InstanceState& instance = job.instances[i];
    if (instance.final()) continue;
    take_room(job, instance, false);
    const AttemptRef attempt{name, i, instance.attempt};
    if (instance.phase == InstancePhase::backing_off) {
      timers_.emplace(instance.restart_at_ms, Timer{name, attempt});
    } else if (instance.phase == InstancePhase::running) {
      if (instance.stopping) actions_.stops.push_back(attempt);
      if (const auto& timeout = component_of(job, instance).timeout)
        timers_.emplace(instance.started_ms + timeout->count(), Timer{name, attempt});
    }
  }
  settle(job, now_ms);
}

bool Control::stop(std::string_view name, std::int64_t now_ms) {
  JobState* const job = job_named(name);
  if (job == nullptr) return false;
  if (job->final() || job->ending) return true;
  actions_.changed_jobs.insert(job->name());
  if (job->phase == JobPhase::pending) {
    pending_.erase(pending_key(*job));
    hopeless_.erase(job->name());
    job->phase = JobPhase::stopped;
    job->reason.clear();
    job->ended_ms = now_ms;
    for (std::size_t i = 0; i < job->instances.size(); ++i) {
      job->instances[i].phase = InstancePhase::stopped;
      changed(*job, i);
    }
    return true;
  }
  job->ending = JobPhase::stopped;
  settle(*job, now_ms);
  return true;
}

bool Control::remove(std::string_view name, std::int64_t now_ms) {
  JobState* const job = job_named(name);
  if (job == nullptr) return false;
  job->remove = true;
  actions_.changed_jobs.insert(job->name());
  if (!job->final()) stop(name, now_ms);
  // Stopping may have been all it took.
  if (JobState* const left = job_named(name); left != nullptr && left->final()) drop(*left);
  return true;
}

void Control::drop(JobState& job) {
  RemovedJob removed{.name = job.name(), .id = job.id};
  for (const auto& instance : job.instances) removed.instances.push_back(instance.name());
  actions_.changed_jobs.erase(removed.name);
  std::erase_if(actions_.changed_instances,
                [&](const auto& changed) { return changed.first == removed.name; });
  jobs_.erase(removed.name);
  actions_.removed.push_back(std::move(removed));
}

void Control::ended(const AttemptRef& attempt, const ExitRecord& record,
                    std::vector<std::string> log, std::int64_t now_ms) {
  JobState* job = nullptr;
  InstanceState* const instance = current(attempt, job);
  if (instance == nullptr) return;
  instance->last = record;
  instance->ended_ms = record.ended_ms != 0 ? record.ended_ms : now_ms;
  changed(*job, attempt.instance);
  if (job->ending) {
    const bool good = record.status.success();
    end_instance(*job, attempt.instance, good ? InstancePhase::succeeded : InstancePhase::stopped,
                 now_ms);
    return settle(*job, now_ms);
  }
  const ComponentSpec& component = component_of(*job, *instance);
  ExitStatus status = record.status;
  // One that was ended for running too long has not succeeded, however politely it went.
  if (instance->timed_out && status.success()) status = {.code = kTimeoutCode};
  const EndDecision decision = after_end(component.restart, status, instance->restarts);
  if (decision.verdict == EndVerdict::restart) {
    instance->phase = InstancePhase::backing_off;
    instance->stopping = false;
    instance->restart_at_ms = now_ms + decision.backoff.count();
    ++instance->restarts;
    timers_.emplace(instance->restart_at_ms, Timer{job->name(), attempt});
    return;
  }
  const bool good = decision.verdict == EndVerdict::succeeded;
  end_instance(*job, attempt.instance, good ? InstancePhase::succeeded : InstancePhase::failed,
               now_ms);
  if (!good && !job->failure) {
    std::string what = record.description();
    if (instance->timed_out) what = fmt::format("timeout after {}", time_text(*component.timeout));
    job->failure = JobFailure{.instance = instance->name(),
                              .what = std::move(what),
                              .exit_code = instance->timed_out ? kTimeoutCode : status.shell_code(),
                              .log = std::move(log)};
    actions_.changed_jobs.insert(job->name());
  }
  if (decision.verdict == EndVerdict::failed_job) job->ending = JobPhase::failed;
  settle(*job, now_ms);
}

void Control::not_started(const AttemptRef& attempt, std::int64_t now_ms) {
  JobState* job = nullptr;
  InstanceState* const instance = current(attempt, job);
  if (instance == nullptr) return;
  instance->phase = InstancePhase::waiting;
  instance->stopping = false;
  changed(*job, attempt.instance);
  settle(*job, now_ms);
}

ControlActions Control::take_actions(std::int64_t now_ms) {
  while (!timers_.empty() && timers_.begin()->first <= now_ms) {
    const Timer timer = std::move(timers_.extract(timers_.begin()).mapped());
    fire(timer, now_ms);
  }
  if (plan_needed_) plan(now_ms);
  return std::exchange(actions_, {});
}

std::optional<std::int64_t> Control::next_due_ms() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first;
}

void Control::fire(const Timer& timer, std::int64_t now_ms) {
  JobState* const job = job_named(timer.job);
  if (job == nullptr || job->phase != JobPhase::running || job->ending) return;
  if (!timer.attempt) {
    job->failure =
        JobFailure{.what = fmt::format("timeout after {}", time_text(*job->spec.timeout)),
                   .exit_code = kTimeoutCode};
    job->ending = JobPhase::failed;
    actions_.changed_jobs.insert(job->name());
    return settle(*job, now_ms);
  }
  InstanceState& instance = job->instances[timer.attempt->instance];
  if (instance.attempt != timer.attempt->attempt) return;
  if (instance.phase == InstancePhase::backing_off && now_ms >= instance.restart_at_ms) {
    return start_instance(*job, timer.attempt->instance, now_ms);
  }
  if (instance.phase == InstancePhase::running && !instance.stopping) {
    instance.stopping = true;
    instance.timed_out = true;
    changed(*job, timer.attempt->instance);
    actions_.stops.push_back(*timer.attempt);
  }
}

void Control::plan(std::int64_t now_ms) {
  plan_needed_ = false;
  if (pending_.empty() || running_jobs_ >= options_.parallel_level) return;
  const std::size_t waiting_before = pending_.size();
  std::vector<PlannerJob> waiting;
  for (const PendingKey& key : pending_) {
    if (waiting.size() == kPlanned) break;
    const JobState& job = jobs_.at(std::get<std::string>(key));
    waiting.push_back(planner_job(job.spec, std::chrono::milliseconds(job.submitted_ms)));
  }
  const PlannerNode node{
      .name = options_.node_name, .total = options_.node, .used = used_, .instances = instances_};
  const Plan plan = cluster::plan(
      {node}, waiting, {.max_jobs = options_.parallel_level, .running_jobs = running_jobs_});
  for (const JobStart& start : plan.starts) start_job(jobs_.at(waiting[start.job].name), now_ms);
  for (const JobWait& wait : plan.waits) {
    JobState& job = jobs_.at(waiting[wait.job].name);
    const std::string reason = wait.cause == WaitCause::no_slot ? std::string() : wait.reason;
    if (wait.cause == WaitCause::never) {
      pending_.erase(pending_key(job));
      hopeless_.insert(job.name());
    }
    if (job.reason == reason) continue;
    job.reason = reason;
    actions_.changed_jobs.insert(job.name());
  }
  // More may wait than were looked at, when all of those were started or never can be.
  plan_needed_ = pending_.size() < waiting_before && !pending_.empty();
  if (plan_needed_) this->plan(now_ms);
}

void Control::start_job(JobState& job, std::int64_t now_ms) {
  pending_.erase(pending_key(job));
  job.phase = JobPhase::running;
  job.reason.clear();
  job.started_ms = now_ms;
  ++running_jobs_;
  actions_.changed_jobs.insert(job.name());
  if (job.spec.timeout) timers_.emplace(now_ms + job.spec.timeout->count(), Timer{job.name(), {}});
  for (std::size_t i = 0; i < job.instances.size(); ++i) {
    take_room(job, job.instances[i], true);
    changed(job, i);
  }
  settle(job, now_ms);
}

void Control::take_room(const JobState& job, InstanceState& instance, bool assign_gpus) {
  const Resources& each = component_of(job, instance).resources;
  used_ += each;
  ++instances_;
  if (assign_gpus) {
    for (std::uint32_t gpu = 0; gpu < gpu_taken_.size(); ++gpu) {
      if (instance.gpus.size() == each.gpu) break;
      if (!gpu_taken_[gpu]) instance.gpus.push_back(gpu);
      gpu_taken_[gpu] = true;
    }
  }
  for (const std::uint32_t gpu : instance.gpus) {
    if (gpu < gpu_taken_.size()) gpu_taken_[gpu] = true;
  }
}

void Control::end_instance(JobState& job, std::size_t position, InstancePhase phase,
                           std::int64_t now_ms) {
  InstanceState& instance = job.instances[position];
  instance.phase = phase;
  instance.stopping = false;
  if (instance.ended_ms == 0) instance.ended_ms = now_ms;
  changed(job, position);
  const Resources& each = component_of(job, instance).resources;
  MUSTER_ASSERT(used_.holds(each) && instances_ > 0, "an instance holds room until its end");
  used_ -= each;
  --instances_;
  for (const std::uint32_t gpu : instance.gpus) {
    if (gpu < gpu_taken_.size()) gpu_taken_[gpu] = false;
  }
  plan_needed_ = true;
}

void Control::start_instance(JobState& job, std::size_t position, std::int64_t now_ms) {
  InstanceState& instance = job.instances[position];
  instance.phase = InstancePhase::running;
  instance.stopping = false;
  instance.timed_out = false;
  instance.started_ms = now_ms;
  instance.ended_ms = 0;
  ++instance.attempt;
  changed(job, position);
  const AttemptRef attempt{job.name(), position, instance.attempt};
  actions_.starts.push_back(attempt);
  if (const auto& timeout = component_of(job, instance).timeout)
    timers_.emplace(now_ms + timeout->count(), Timer{job.name(), attempt});
}

void Control::settle(JobState& job, std::int64_t now_ms) {
  if (!job.ending) settle_running(job, now_ms);
  if (job.ending) settle_ending(job, now_ms);
  if (std::ranges::all_of(job.instances, &InstanceState::final)) finish(job, now_ms);
}

void Control::settle_running(JobState& job, std::int64_t now_ms) {
  const auto waits = [](const InstanceState& each) { return each.phase == InstancePhase::waiting; };
  if (std::ranges::none_of(job.instances, waits)) return;
  for (const std::string& name : job.spec.start_order()) {
    const ComponentSpec& component = *job.spec.component(name);
    const Ready now = ready(job, component);
    if (now == Ready::not_yet) continue;
    for (std::size_t i = 0; i < job.instances.size(); ++i) {
      if (job.instances[i].component != name || !waits(job.instances[i])) continue;
      if (now == Ready::never) {
        job.ending = JobPhase::failed;
        return;
      }
      start_instance(job, i, now_ms);
    }
  }
}

void Control::settle_ending(JobState& job, std::int64_t now_ms) {
  actions_.changed_jobs.insert(job.name());
  for (std::size_t i = 0; i < job.instances.size(); ++i) {
    InstanceState& instance = job.instances[i];
    if (instance.phase == InstancePhase::waiting || instance.phase == InstancePhase::backing_off) {
      end_instance(job, i, InstancePhase::stopped, now_ms);
    } else if (instance.phase == InstancePhase::running && !instance.stopping) {
      instance.stopping = true;
      changed(job, i);
      actions_.stops.push_back({job.name(), i, instance.attempt});
    }
  }
}

void Control::finish(JobState& job, std::int64_t now_ms) {
  const auto failed = [](const InstanceState& each) { return each.phase == InstancePhase::failed; };
  const bool any_failed = std::ranges::any_of(job.instances, failed);
  job.phase = job.ending.value_or(any_failed ? JobPhase::failed : JobPhase::succeeded);
  job.ending.reset();
  job.ended_ms = now_ms;
  --running_jobs_;
  plan_needed_ = true;
  actions_.changed_jobs.insert(job.name());
  if (job.remove) drop(job);
}

}  // namespace muster::cluster
