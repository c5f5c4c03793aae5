#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/query.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"

namespace muster::cli {
namespace {

using nlohmann::ordered_json;

/// "1/4 80 MiB": processes for Python functions, how many there may be, and what they use.
std::string python_text(const ordered_json& worker) {
  const auto python = worker.find("python");
  if (python == worker.end() || !python->is_object()) return "-";
  return fmt::format("{}/{} {}", field(*python, "processes"), field(*python, "most"),
                     bytes_field(*python, "memory"));
}

Table table_of_workers(const ordered_json& workers) {
  Table table{"NAME",   "STATE",    "HOST", "PID",    "THREADS", "RUNNING",
              "QUEUED", "FINISHED", "USED", "MEMORY", "SPILLED", "PYTHON"};
  for (const ordered_json& worker : workers) {
    const std::string state = field(worker, "state");
    table.add({field(worker, "name"), Cell(state, state == "well" ? Style::good : Style::warning),
               field(worker, "host"), field(worker, "pid"), field(worker, "threads"),
               field(worker, "running"), field(worker, "queued"), field(worker, "finished"),
               bytes_field(worker, "used"), bytes_field(worker, "memory"),
               bytes_field(worker, "spilled"), python_text(worker)});
  }
  return table;
}

}  // namespace

Action set_up_engine_workers(CLI::App& parser, Io io) {
  auto flags = std::make_shared<WebFlags>();
  add_web_flags(parser, *flags);
  return [flags, output = Output(parser, io), io] {
    const auto answer = ask_web(*flags, "/api/workers");
    if (!answer) return report(io, answer.error());
    const auto workers =
        answer->is_array() ? *answer : answer->value("workers", ordered_json::array());
    output.print(workers, table_of_workers(workers));
    return kDone;
  };
}

}  // namespace muster::cli
