#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

// The array engine on a cluster; each in the file of its name.

Action set_up_scheduler(CLI::App& parser, Io io);
Action set_up_worker(CLI::App& parser, Io io);
Action set_up_web(CLI::App& parser, Io io);
Action set_up_local_cluster(CLI::App& parser, Io io);
Action set_up_engine_status(CLI::App& parser, Io io);
Action set_up_engine_workers(CLI::App& parser, Io io);
Action set_up_engine_sessions(CLI::App& parser, Io io);
Action set_up_engine_tasks(CLI::App& parser, Io io);

}  // namespace muster::cli
