#include "muster/cluster/job/json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/errc.h"
#include "muster/cluster/job/draft.h"
#include "muster/cluster/job/yaml.h"

namespace muster::cluster {
namespace {

using nlohmann::ordered_json;

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

const char* text(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::never: return "never";
    case RestartPolicy::on_failure: return "on-failure";
    case RestartPolicy::always: return "always";
  }
  return "";
}

const char* text(Metric metric) {
  switch (metric) {
    case Metric::cpu: return "cpu";
    case Metric::memory: return "memory";
    case Metric::gpu: return "gpu";
  }
  return "";
}

const char* text(AllocationMode mode) {
  return mode == AllocationMode::balanced ? "single-metric-balanced" : "single-metric-compacted";
}

ordered_json document(const MountSpec& mount) {
  ordered_json result = {{"target", mount.target}};
  if (!mount.source.empty()) result["source"] = mount.source;
  result["read_only"] = mount.read_only;
  return result;
}

ordered_json document(const Resources& resources) {
  return {{"cpu", static_cast<double>(resources.cpu_milli) / 1000},
          {"memory", resources.memory},
          {"gpu", resources.gpu}};
}

ordered_json document(const ComponentSpec& component) {
  ordered_json result = {{"num", component.num}};
  if (component.shell) {
    result["shell"] = true;
    result["command"] = component.command.front();
  } else {
    result["command"] = component.command;
  }
  if (!component.image.empty()) result["image"] = component.image;
  for (const MountSpec& mount : component.mounts) result["mount"].push_back(document(mount));
  result["resources"] = document(component.resources);
  if (!component.env.empty()) result["env"] = component.env;
  if (!component.working_dir.empty()) result["working_dir"] = component.working_dir;
  result["restart"] = {{"policy", text(component.restart.policy)},
                       {"max", component.restart.max},
                       {"backoff", seconds(component.restart.backoff)}};
  for (const Dependency& each : component.depends_on) {
    result["depends_on"][each.component] =
        each.until == DependsUntil::started ? "started" : "succeeded";
  }
  if (component.timeout) result["timeout"] = seconds(*component.timeout);
  result["logs"] = {{"max_size", component.logs.max_size}, {"keep", component.logs.keep}};
  return result;
}

ordered_json document(const JobSpec& job) {
  ordered_json result = {
      {"mode", job.mode},
      {"name", job.name},
      {"allocation",
       {{"mode", text(job.allocation.mode)}, {"metric", text(job.allocation.metric)}}},
      {"priority", job.priority}};
  if (!job.labels.empty()) result["labels"] = job.labels;
  if (job.timeout) result["timeout"] = seconds(*job.timeout);
  for (const ComponentSpec& component : job.components) {
    result["components"][component.name] = document(component);
  }
  return result;
}

std::string dump(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

template <class T>
Result<T> from_json(std::string_view text) {
  Problems problems("");
  Spec spec;
  if (const auto value = read_json(text, problems)) spec = spec_from(*value, problems);
  if (problems.empty() && !std::holds_alternative<T>(spec)) {
    problems.add(0, "job_names", "only a schedule has this, and each has");
  }
  if (problems.empty()) return std::get<T>(std::move(spec));
  std::vector<std::string> lines;
  for (const SpecProblem& problem : problems.sorted()) lines.push_back(problem.str());
  return fail(Errc::invalid_spec, fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace

std::string to_json(const JobSpec& job) { return dump(document(job)); }

std::string to_json(const ScheduleSpec& schedule) {
  ordered_json result = document(schedule.job);
  result["name"] = schedule.name;
  result["job_names"] = schedule.job_names;
  return dump(result);
}

Result<JobSpec> job_from_json(std::string_view text) { return from_json<JobSpec>(text); }
Result<ScheduleSpec> schedule_from_json(std::string_view text) {
  return from_json<ScheduleSpec>(text);
}

}  // namespace muster::cluster
