#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/role.h"
#include "muster/service/scheduler/scheduler_service.h"

namespace muster::cli {
namespace {

struct SchedulerFlags {
  RoleFlags role;
  std::string journal_dir;
  std::uint16_t metrics_port = 0;
};

Result<RunningRole> start_scheduler(const service::SchedulerOptions& options) {
  auto started = service::SchedulerService::start(options);
  if (!started)
    return fail(started.error().within(
        fmt::format("scheduler at {}", place_text(options.role.host, options.role.port))));
  const std::shared_ptr<service::SchedulerService> scheduler = *std::move(started);
  return RunningRole{.ready = fmt::format("scheduler ready at {}",
                                          place_text(options.role.host, scheduler->port())),
                     .leave = {},
                     .stop = [scheduler] { scheduler->stop(); },
                     .alive = {},
                     .why_gone = {}};
}

}  // namespace

Action set_up_scheduler(CLI::App& parser, Io io) {
  auto flags = std::make_shared<SchedulerFlags>();
  add_role_flags(parser, flags->role, NeedsScheduler::no);
  parser
      .add_option("--journal-dir", flags->journal_dir,
                  "Where the journal is kept, from which the next scheduler goes on; a folder of "
                  "this user named after address and port if not given")
      ->type_name("DIR");
  parser
      .add_option("--metrics-port", flags->metrics_port,
                  "Serve Prometheus metrics there; without it, the web role has them")
      ->type_name("PORT");
  return [flags, io] {
    const RoleEnvironment environment = environment_or_throw();
    service::SchedulerOptions options;
    options.role = role_options(flags->role, environment, NeedsScheduler::no);
    options.journal_dir = flags->journal_dir;
    options.metrics_port = flags->metrics_port;
    return run_role(flags->role, io, [&] { return start_scheduler(options); });
  };
}

}  // namespace muster::cli
