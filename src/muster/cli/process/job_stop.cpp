#include <memory>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"
#include "muster/cli/process/progress.h"

namespace muster::cli {

Action set_up_job_stop(CLI::App& parser, Io io) {
  auto name = std::make_shared<std::string>();
  parser.add_option("NAME", *name, "The job")->required()->type_name("");
  return [name, io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      if (const auto asked = mode.stop(*name); !asked) return report(io, asked.error());
      return await_end(mode, *name, Until::over, io);
    });
  };
}

}  // namespace muster::cli
