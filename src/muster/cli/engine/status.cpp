#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/query.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cluster/job/quantity.h"

namespace muster::cli {
namespace {

using nlohmann::ordered_json;

std::size_t count_of(const ordered_json& cluster, const char* name) {
  const auto place = cluster.find(name);
  if (place == cluster.end()) return 0;
  return place->is_array() ? place->size() : place->get<std::size_t>();
}

std::string text(const ordered_json& cluster) {
  std::string lines =
      fmt::format("workers     {}\nsessions    {}\nexecutions  {}\n", count_of(cluster, "workers"),
                  count_of(cluster, "sessions"), count_of(cluster, "executions"));
  lines += fmt::format("threads     {}\n", field(cluster, "threads"));
  lines += fmt::format("memory      {} of {}\n", bytes_field(cluster, "used"),
                       bytes_field(cluster, "memory"));
  lines += fmt::format("spilled     {}\n", bytes_field(cluster, "spilled"));
  if (const auto tasks = cluster.find("tasks"); tasks != cluster.end() && tasks->is_object())
    lines += fmt::format("tasks       {} finished, {} failed, {} running or queued, {} ready\n",
                         field(*tasks, "finished"), field(*tasks, "failed"), field(*tasks, "given"),
                         field(*tasks, "ready"));
  if (const auto uptime = cluster.find("uptime"); uptime != cluster.end() && uptime->is_number())
    lines += fmt::format("up for      {:.0f} s\n", uptime->get<double>());
  return lines;
}

}  // namespace

Action set_up_engine_status(CLI::App& parser, Io io) {
  auto flags = std::make_shared<WebFlags>();
  add_web_flags(parser, *flags);
  return [flags, output = Output(parser, io), io] {
    const auto cluster = ask_web(*flags, "/api/cluster");
    if (!cluster) return report(io, cluster.error());
    output.print(*cluster, output.format() == Format::table ? text(*cluster) : std::string());
    return kDone;
  };
}

}  // namespace muster::cli
