#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// `muster run -n N [--] PROGRAM ARGS…`: a launcher like mpirun for one host.
Action set_up_run(CLI::App& parser, Io io);

}  // namespace muster::cli
