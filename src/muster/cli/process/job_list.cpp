#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/job_text.h"
#include "muster/cli/process/mode.h"

namespace muster::cli {
namespace {

// Whether a job has all these labels, each "NAME" or "NAME=VALUE".
bool has_labels(const cluster::JobState& job, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& each) {
    const std::size_t equals = each.find('=');
    const auto found = job.spec.labels.find(each.substr(0, equals));
    if (found == job.spec.labels.end()) return false;
    return equals == std::string::npos || found->second == each.substr(equals + 1);
  });
}

std::string not_a_label(const std::string& text) {
  if (!text.empty() && text.front() != '=') return {};
  return fmt::format("'{}' is neither NAME nor NAME=VALUE", text);
}

}  // namespace

Action set_up_job_list(CLI::App& parser, Io io) {
  auto labels = std::make_shared<std::vector<std::string>>();
  parser
      .add_option("-l,--label", *labels,
                  "Only jobs with this label, or with this value of it; of several, with all")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& text) { return not_a_label(text); }, "");
  return [labels, output = Output(parser, io), io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto jobs = mode.jobs();
      if (!jobs) return report(io, jobs.error());
      auto document = nlohmann::ordered_json::array();
      Table table{"NAME", "STATE", "SUBMITTED", "TIME", "REMARK"};
      for (const auto& job : *jobs) {
        if (!has_labels(job, *labels)) continue;
        document.push_back(job_document(job, mode.layout().job(job.id)));
        table.add({job.name(), phase_cell(job), time_of_day(job.submitted_ms),
                   duration_text(job.started_ms, job.ended_ms), remark(job)});
      }
      output.print(document, table);
      return kDone;
    });
  };
}

}  // namespace muster::cli
