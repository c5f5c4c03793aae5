#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/base/log.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/role.h"
#include "muster/cli/engine/worker_options.h"
#include "muster/service/worker/worker_service.h"

namespace muster::cli {
namespace {

Result<RunningRole> start_worker(const service::WorkerOptions& options) {
  auto started = service::WorkerService::start(options);
  if (!started) return fail(started.error().within("worker"));
  const std::shared_ptr<service::WorkerService> worker = *std::move(started);
  const std::string place =
      options.role.port == 0 ? options.role.host : place_text(options.role.host, options.role.port);
  return RunningRole{.ready = fmt::format("worker {} ready at {}", worker->name(), place),
                     .leave =
                         [worker] {
                           if (const auto left = worker->leave(); !left)
                             log(LogLevel::error, "worker", "{}", left.error().message());
                         },
                     .stop = [worker] { worker->stop(); },
                     .alive = [worker] { return worker->is_alive(); },
                     .why_gone = [worker] { return worker->why_gone(); }};
}

}  // namespace

Action set_up_worker(CLI::App& parser, Io io) {
  auto flags = std::make_shared<WorkerFlags>();
  add_worker_flags(parser, *flags);
  return [flags, io] {
    const auto options = worker_options(*flags, environment_or_throw());
    return run_role(flags->role, io, [&] { return start_worker(options); });
  };
}

}  // namespace muster::cli
