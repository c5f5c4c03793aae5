#include <memory>

#include <CLI/CLI.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/engine/commands.h"
#include "muster/cli/engine/query.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"

namespace muster::cli {
namespace {

using nlohmann::ordered_json;

Table table_of_sessions(const ordered_json& sessions) {
  Table table{"SESSION", "NAME", "TENSORS", "BYTES", "EXECUTIONS", "RUNNING"};
  for (const ordered_json& session : sessions) {
    const auto executions = session.value("executions", ordered_json::array());
    std::size_t running = 0;
    for (const ordered_json& execution : executions) {
      const std::string state = field(execution, "state");
      if (state == "running" || state == "tiling") ++running;
    }
    table.add({field(session, "session"), field(session, "name"), field(session, "tensors"),
               bytes_field(session, "bytes"), std::to_string(executions.size()),
               std::to_string(running)});
  }
  return table;
}

}  // namespace

Action set_up_engine_sessions(CLI::App& parser, Io io) {
  auto flags = std::make_shared<WebFlags>();
  add_web_flags(parser, *flags);
  return [flags, output = Output(parser, io), io] {
    const auto answer = ask_web(*flags, "/api/sessions");
    if (!answer) return report(io, answer.error());
    const auto sessions =
        answer->is_array() ? *answer : answer->value("sessions", ordered_json::array());
    output.print(sessions, table_of_sessions(sessions));
    return kDone;
  };
}

}  // namespace muster::cli
