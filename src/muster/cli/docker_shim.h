#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// `muster docker-shim FOLDER`: watches over one container; started by the agent, not by people.
Action set_up_docker_shim(CLI::App& parser, Io io);

}  // namespace muster::cli
