#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/role.h"
#include "muster/cli/failure.h"
#include "muster/service/web/web_service.h"

namespace muster::cli {
namespace {

struct WebRoleFlags {
  RoleFlags role;
  service::WebOptions web;
};

void add_serving_flags(CLI::App& parser, service::WebOptions& web) {
  parser
      .add_option("--token-file", web.token_file,
                  "A file with the token that clients must show; without one it is derived from "
                  "MUSTER_SECRET, or left for programs of this user")
      ->type_name("FILE");
  parser
      .add_option("--path-prefix", web.path_prefix,
                  "Where a proxy in front puts it: /mars/team/web-0")
      ->type_name("PATH");
  parser.add_option("--tls-certificate", web.tls_certificate, "Serve https with this PEM file")
      ->type_name("FILE");
  parser.add_option("--tls-key", web.tls_key, "Its key")->type_name("FILE");
}

Result<RunningRole> start_web(const service::WebOptions& options) {
  auto started = service::WebService::start(options);
  if (!started) return fail(started.error().within("web"));
  const std::shared_ptr<service::WebService> web = *std::move(started);
  return RunningRole{.ready = fmt::format("web ready at {}", web->url()),
                     .leave = {},
                     .stop = [web] { web->stop(); },
                     .alive = {},
                     .why_gone = {}};
}

}  // namespace

Action set_up_web(CLI::App& parser, Io io) {
  auto flags = std::make_shared<WebRoleFlags>();
  add_role_flags(parser, flags->role, NeedsScheduler::yes);
  add_serving_flags(parser, flags->web);
  return [flags, io] {
    if (flags->web.tls_certificate.empty() != flags->web.tls_key.empty())
      throw UsageError("--tls-certificate and --tls-key belong together");
    flags->web.role = role_options(flags->role, environment_or_throw(), NeedsScheduler::yes);
    return run_role(flags->role, io, [&] { return start_web(flags->web); });
  };
}

}  // namespace muster::cli
