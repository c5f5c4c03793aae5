#include "muster/cli/process/job_text.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/base/wall_clock.h"

namespace muster::cli {
namespace {

using cluster::InstancePhase;
using cluster::InstanceState;
using cluster::JobPhase;
using cluster::JobState;

constexpr int kStoppedCode = 143;  // 128 and SIGTERM

std::size_t count(const JobState& job, InstancePhase phase) {
  return static_cast<std::size_t>(std::ranges::count(job.instances, phase, &InstanceState::phase));
}

nlohmann::ordered_json instance_document(const InstanceState& instance) {
  nlohmann::ordered_json document{
      {"name", instance.name()},      {"phase", name_of(instance.phase)},
      {"attempt", instance.attempt},  {"restarts", instance.restarts},
      {"gpus", instance.gpus},        {"started_ms", instance.started_ms},
      {"ended_ms", instance.ended_ms}};
  if (instance.last) {
    document["last"] = {{"exit_code", instance.last->status.code},
                        {"signal", instance.last->status.signal},
                        {"out_of_memory", instance.last->out_of_memory},
                        {"what", instance.last->description()}};
  }
  return document;
}

}  // namespace

Cell phase_cell(const JobState& job) {
  if (job.ending) return {"stopping", Style::warning};
  const std::string name(name_of(job.phase));
  switch (job.phase) {
    case JobPhase::succeeded: return {name, Style::good};
    case JobPhase::failed: return {name, Style::bad};
    case JobPhase::stopped: return {name, Style::warning};
    default: return {name};
  }
}

std::string remark(const JobState& job) {
  if (job.phase == JobPhase::pending)
    return job.reason.empty() ? "waits for its turn (parallel_level)" : job.reason;
  if (job.failure && job.phase != JobPhase::succeeded) {
    const std::string& who = job.failure->instance;
    return who.empty() ? job.failure->what : fmt::format("{}: {}", who, job.failure->what);
  }
  const std::size_t done = count(job, InstancePhase::succeeded);
  if (job.phase != JobPhase::running)
    return fmt::format("{} of {} done", done, job.instances.size());
  return fmt::format("{} running, {} of {} done", count(job, InstancePhase::running), done,
                     job.instances.size());
}

std::string labels_text(const JobState& job) {
  std::string text;
  for (const auto& [name, value] : job.spec.labels)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

std::string duration_text(std::int64_t started_ms, std::int64_t ended_ms) {
  if (started_ms == 0) return {};
  const std::int64_t until = ended_ms == 0 ? wall_clock() : ended_ms;
  const std::int64_t ms = std::max<std::int64_t>(until - started_ms, 0);
  const std::int64_t seconds = ms / 1000;
  if (seconds < 60) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string time_of_day(std::int64_t ms) {
  if (ms == 0) return {};
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(ms / 1000)));
}

nlohmann::ordered_json job_document(const JobState& job, const std::string& folder) {
  nlohmann::ordered_json document{{"name", job.name()},
                                  {"id", job.id},
                                  {"phase", name_of(job.phase)},
                                  {"stopping", job.ending.has_value()},
                                  {"remark", remark(job)},
                                  {"schedule", job.schedule},
                                  {"priority", job.spec.priority},
                                  {"labels", job.spec.labels},
                                  {"submitted_ms", job.submitted_ms},
                                  {"started_ms", job.started_ms},
                                  {"ended_ms", job.ended_ms},
                                  {"logs", folder}};
  if (job.failure) {
    document["failure"] = {{"component", job.failure->instance},
                           {"what", job.failure->what},
                           {"exit_code", job.failure->exit_code},
                           {"log", job.failure->log}};
  }
  document["components"] = nlohmann::ordered_json::array();
  for (const auto& instance : job.instances)
    document["components"].push_back(instance_document(instance));
  return document;
}

int exit_code(const JobState& job) {
  if (job.phase == JobPhase::succeeded) return 0;
  if (job.phase == JobPhase::stopped) return kStoppedCode;
  return job.failure && job.failure->exit_code != 0 ? job.failure->exit_code : 1;
}

}  // namespace muster::cli
