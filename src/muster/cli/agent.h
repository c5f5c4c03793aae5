#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// `muster agent`: the daemon of process mode; started by `muster process`, not by people.
Action set_up_agent(CLI::App& parser, Io io);

}  // namespace muster::cli
