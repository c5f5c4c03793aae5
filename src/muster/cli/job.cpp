#include "muster/cli/job.h"

#include <memory>
#include <ostream>
#include <variant>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/output.h"
#include "muster/cluster/job/json.h"
#include "muster/cluster/job/read.h"
#include "muster/cluster/job/schema.h"
#include "muster/cluster/node/settings.h"

namespace muster::cli {
namespace {

using cluster::JobSpec;
using cluster::ScheduleSpec;
using nlohmann::ordered_json;

/// "job 'train', 2 components, 5 instances"
std::string summary(const cluster::Spec& spec) {
  const auto* schedule = std::get_if<ScheduleSpec>(&spec);
  const JobSpec& job = schedule != nullptr ? schedule->job : std::get<JobSpec>(spec);
  std::string text = schedule != nullptr ? fmt::format("schedule '{}', {} jobs of", job.name,
                                                       schedule->job_names.size())
                                         : fmt::format("job '{}',", job.name);
  return fmt::format("{} {} component{}, {} instance{}", text, job.components.size(),
                     job.components.size() == 1 ? "" : "s", job.instances(),
                     job.instances() == 1 ? "" : "s");
}

/// What one file holds, for programs.
ordered_json document(const cluster::SpecFileReading& reading) {
  ordered_json result = {{"file", reading.file}, {"ok", reading.ok()}};
  if (reading.ok()) {
    result["kind"] = std::holds_alternative<JobSpec>(reading.spec) ? "job" : "schedule";
    result["spec"] = ordered_json::parse(
        std::visit([](const auto& spec) { return cluster::to_json(spec); }, reading.spec));
    return result;
  }
  for (const cluster::SpecProblem& problem : reading.problems) {
    result["problems"].push_back(
        {{"line", problem.line}, {"field", problem.field}, {"message", problem.message}});
  }
  return result;
}

/// Settings of process mode, which often lie beside descriptions: `muster process template` puts
/// them there.
bool holds_settings(const std::string& file) {
  const auto text = cluster::spec_file_text(file);
  return text && cluster::read_settings(*text, file) && !cluster::only_comments(*text);
}

int validate(const std::vector<std::string>& files, const Output& output) {
  ordered_json documents = ordered_json::array();
  std::string good;
  std::string bad;
  for (const std::string& file : files) {
    const auto reading = cluster::check_spec_file(file);
    if (!reading.ok() && holds_settings(file)) {
      documents.push_back({{"file", file}, {"ok", true}, {"kind", "settings"}});
      good += fmt::format("{}: settings of process mode\n", file);
      continue;
    }
    documents.push_back(document(reading));
    if (reading.ok()) good += fmt::format("{}: {}\n", file, summary(reading.spec));
    for (const cluster::SpecProblem& problem : reading.problems) bad += problem.str() + '\n';
  }
  output.print(documents, good);
  if (output.format() == Format::table) output.io().err << bad;
  return bad.empty() ? kDone : kFailed;
}

}  // namespace

Action set_up_job_validate(CLI::App& parser, Io io) {
  auto files = std::make_shared<std::vector<std::string>>();
  parser.add_option("FILE", *files, "Descriptions of jobs or schedules, in YAML")->required();
  return [files, output = Output(parser, io)] { return validate(*files, output); };
}

Action set_up_job_schema(CLI::App&, Io io) {
  return [io] {
    io.out << cluster::job_schema();
    return kDone;
  };
}

}  // namespace muster::cli
