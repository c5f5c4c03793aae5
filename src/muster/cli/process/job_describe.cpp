#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/job_text.h"
#include "muster/cli/process/mode.h"
#include "muster/cluster/job/json.h"

namespace muster::cli {
namespace {

std::string description(const cluster::JobState& job, const std::string& folder, bool colour) {
  const Cell phase = phase_cell(job);
  std::string lines =
      fmt::format("name       {}\nid         {}\nstate      {}\nremark     {}\nsubmitted  {}\n",
                  job.name(), job.id, colour ? coloured(phase.text, phase.style) : phase.text,
                  remark(job), time_of_day(job.submitted_ms));
  if (!job.schedule.empty()) lines += fmt::format("schedule   {}\n", job.schedule);
  if (job.spec.priority != 0) lines += fmt::format("priority   {}\n", job.spec.priority);
  if (!job.spec.labels.empty()) lines += fmt::format("labels     {}\n", labels_text(job));
  if (job.started_ms != 0) {
    lines += fmt::format("started    {}\ntime       {}\n", time_of_day(job.started_ms),
                         duration_text(job.started_ms, job.ended_ms));
  }
  lines += fmt::format("logs       {}\n\n", folder);
  Table table{"COMPONENT", "STATE", "ATTEMPT", "TIME", "LAST END"};
  for (const auto& instance : job.instances) {
    table.add({instance.name(), std::string(name_of(instance.phase)),
               std::to_string(instance.attempt),
               duration_text(instance.started_ms, instance.ended_ms),
               instance.last ? instance.last->description() : ""});
  }
  lines += table.text(colour);
  if (job.failure && !job.failure->log.empty()) {
    lines += fmt::format("\nThe last lines of {}:\n", job.failure->instance);
    for (const auto& line : job.failure->log) lines += "  " + line + "\n";
  }
  return lines;
}

}  // namespace

Action set_up_job_describe(CLI::App& parser, Io io) {
  auto name = std::make_shared<std::string>();
  parser.add_option("NAME", *name, "The job")->required()->type_name("");
  return [name, output = Output(parser, io), io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto job = mode.job(*name);
      if (!job) return report(io, job.error());
      const std::string folder = mode.layout().job(job->id);
      auto document = job_document(*job, folder);
      document["spec"] = nlohmann::ordered_json::parse(cluster::to_json(job->spec));
      output.print(document, description(*job, folder, io.colour));
      return kDone;
    });
  };
}

}  // namespace muster::cli
