#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

// The commands under `muster process`, one file each.

Action set_up_process_create(CLI::App& parser, Io io);
Action set_up_process_delete(CLI::App& parser, Io io);
Action set_up_process_status(CLI::App& parser, Io io);
Action set_up_setting_show(CLI::App& parser, Io io);
Action set_up_setting_set(CLI::App& parser, Io io);
Action set_up_job_start(CLI::App& parser, Io io);
Action set_up_job_stop(CLI::App& parser, Io io);
Action set_up_job_delete(CLI::App& parser, Io io);
Action set_up_job_list(CLI::App& parser, Io io);
Action set_up_job_describe(CLI::App& parser, Io io);
Action set_up_job_logs(CLI::App& parser, Io io);
Action set_up_schedule_start(CLI::App& parser, Io io);
Action set_up_schedule_stop(CLI::App& parser, Io io);
Action set_up_schedule_list(CLI::App& parser, Io io);

}  // namespace muster::cli
