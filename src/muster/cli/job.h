#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// `muster job validate FILE…`
Action set_up_job_validate(CLI::App& parser, Io io);

/// `muster job schema`
Action set_up_job_schema(CLI::App& parser, Io io);

}  // namespace muster::cli
