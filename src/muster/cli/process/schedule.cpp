#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"
#include "muster/cluster/job/read.h"

namespace muster::cli {
namespace {

int start_schedule(const std::string& file, const Io& io) {
  const auto schedule = cluster::read_schedule_file(file);
  if (!schedule) return report(io, schedule.error());
  if (schedule->job.mode != "process") {
    return report(io, fmt::format("{}: mode is '{}', but this command runs jobs of mode 'process'",
                                  file, schedule->job.mode));
  }
  return with_process_mode(io, [&](cluster::ProcessMode& mode) {
    if (const auto started = mode.start(*schedule); !started) return report(io, started.error());
    io.out << fmt::format("schedule '{}': {} jobs are queued\n", schedule->name,
                          schedule->job_names.size());
    return kDone;
  });
}

}  // namespace

Action set_up_schedule_start(CLI::App& parser, Io io) {
  auto file = std::make_shared<std::string>();
  parser.add_option("FILE", *file, "The description of the schedule")->required()->type_name("");
  return [file, io] { return start_schedule(*file, io); };
}

Action set_up_schedule_stop(CLI::App& parser, Io io) {
  auto name = std::make_shared<std::string>();
  parser.add_option("NAME", *name, "The schedule")->required()->type_name("");
  return [name, io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto stopped = mode.stop_schedule(*name);
      return stopped ? kDone : report(io, stopped.error());
    });
  };
}

Action set_up_schedule_list(CLI::App& parser, Io io) {
  return [output = Output(parser, io), io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto schedules = mode.schedules();
      if (!schedules) return report(io, schedules.error());
      auto document = nlohmann::ordered_json::array();
      Table table{"NAME", "JOBS"};
      for (const auto& [name, jobs] : *schedules) {
        document.push_back({{"name", name}, {"jobs", jobs}});
        table.add({name, fmt::format("{}", fmt::join(jobs, " "))});
      }
      output.print(document, table);
      return kDone;
    });
  };
}

}  // namespace muster::cli
