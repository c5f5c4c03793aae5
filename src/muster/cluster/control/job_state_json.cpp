#include "muster/cluster/control/job_state_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cluster/errc.h"
#include "muster/cluster/job/json.h"

namespace muster::cluster {
namespace {

using nlohmann::json;

json record_json(const ExitRecord& record) {
  return {{"code", record.status.code},   {"signal", record.status.signal},
          {"oom", record.out_of_memory},  {"failure", record.failure},
          {"started", record.started_ms}, {"ended", record.ended_ms}};
}

ExitRecord record_from(const json& document) {
  return {.status = {.code = document.at("code"), .signal = document.at("signal")},
          .out_of_memory = document.at("oom"),
          .failure = document.at("failure"),
          .started_ms = document.at("started"),
          .ended_ms = document.at("ended")};
}

json failure_json(const JobFailure& failure) {
  return {{"instance", failure.instance},
          {"what", failure.what},
          {"exit_code", failure.exit_code},
          {"log", failure.log}};
}

JobFailure failure_from(const json& document) {
  return {.instance = document.at("instance"),
          .what = document.at("what"),
          .exit_code = document.at("exit_code"),
          .log = document.at("log")};
}

template <class Phase>
Phase phase_from(const json& document, Phase last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (document == name_of(static_cast<Phase>(i))) return static_cast<Phase>(i);
  }
  throw std::invalid_argument("unknown phase " + document.dump());
}

JobPhase job_phase(const json& document) { return phase_from(document, JobPhase::stopped); }

// Log lines are whatever a program printed.
std::string dump(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

JobState job_from(const json& document, JobSpec spec) {
  JobState job{.id = document.at("id"),
               .spec = std::move(spec),
               .schedule = document.at("schedule"),
               .working_dir = document.at("working_dir"),
               .environment = document.at("environment"),
               .submitted_ms = document.at("submitted"),
               .started_ms = document.at("started"),
               .ended_ms = document.at("ended"),
               .phase = job_phase(document.at("phase")),
               .reason = document.at("reason"),
               .remove = document.at("remove")};
  if (document.contains("ending")) job.ending = job_phase(document.at("ending"));
  if (document.contains("failure")) job.failure = failure_from(document.at("failure"));
  return job;
}

InstanceState instance_from(const json& document) {
  InstanceState instance{.component = document.at("component"),
                         .index = document.at("index"),
                         .phase = phase_from(document.at("phase"), InstancePhase::stopped),
                         .attempt = document.at("attempt"),
                         .restarts = document.at("restarts"),
                         .stopping = document.at("stopping"),
                         .timed_out = document.at("timed_out"),
                         .gpus = document.at("gpus"),
                         .started_ms = document.at("started"),
                         .ended_ms = document.at("ended"),
                         .restart_at_ms = document.at("restart_at")};
  if (document.contains("last")) instance.last = record_from(document.at("last"));
  return instance;
}

tl::unexpected<Error> corrupt(std::string_view kind, std::string_view why) {
  return fail(Errc::corrupt_state, fmt::format("a stored {} cannot be read: {}", kind, why));
}

}  // namespace

std::string to_json(const JobState& job) {
  json document{{"id", job.id},
                {"schedule", job.schedule},
                {"working_dir", job.working_dir},
                {"environment", job.environment},
                {"submitted", job.submitted_ms},
                {"started", job.started_ms},
                {"ended", job.ended_ms},
                {"phase", name_of(job.phase)},
                {"reason", job.reason},
                {"remove", job.remove}};
  if (job.ending) document["ending"] = name_of(*job.ending);
  if (job.failure) document["failure"] = failure_json(*job.failure);
  document["spec"] = to_json(job.spec);
  return dump(document);
}

std::string to_json(const InstanceState& instance) {
  json document{{"component", instance.component},     {"index", instance.index},
                {"phase", name_of(instance.phase)},    {"attempt", instance.attempt},
                {"restarts", instance.restarts},       {"stopping", instance.stopping},
                {"timed_out", instance.timed_out},     {"gpus", instance.gpus},
                {"started", instance.started_ms},      {"ended", instance.ended_ms},
                {"restart_at", instance.restart_at_ms}};
  if (instance.last) document["last"] = record_json(*instance.last);
  return dump(document);
}

Result<JobState> job_state_from_json(std::string_view text) {
  try {
    const json document = json::parse(text);
    auto spec = job_from_json(document.at("spec").get<std::string>());
    if (!spec) return fail(spec.error());
    return job_from(document, std::move(*spec));
  } catch (const std::exception& error) {
    return corrupt("job", error.what());
  }
}

Result<InstanceState> instance_state_from_json(std::string_view text) {
  try {
    return instance_from(json::parse(text));
  } catch (const std::exception& error) {
    return corrupt("instance", error.what());
  }
}

}  // namespace muster::cluster
