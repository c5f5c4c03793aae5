#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"
#include "muster/cli/process/progress.h"
#include "muster/cluster/job/read.h"

namespace muster::cli {
namespace {

int start_job(const std::string& file, bool wait, const Io& io) {
  const auto spec = cluster::read_job_file(file);
  if (!spec) return report(io, spec.error());
  if (spec->mode != "process") {
    return report(io, fmt::format("{}: mode is '{}', but this command runs jobs of mode 'process'",
                                  file, spec->mode));
  }
  return with_process_mode(io, [&](cluster::ProcessMode& mode) {
    const auto id = mode.start(*spec);
    if (!id) return report(io, id.error());
    if (wait) return follow_job(mode, spec->name, io);
    io.out << fmt::format("job '{}' is queued; its logs will be in {}\n", spec->name,
                          mode.layout().job(*id));
    return kDone;
  });
}

}  // namespace

Action set_up_job_start(CLI::App& parser, Io io) {
  auto file = std::make_shared<std::string>();
  auto wait = std::make_shared<bool>(false);
  parser.add_option("FILE", *file, "The description of the job")->required()->type_name("");
  parser.add_flag("-w,--wait", *wait, "Show progress until it is over; end with its exit status");
  return [file, wait, io] { return start_job(*file, *wait, io); };
}

}  // namespace muster::cli
