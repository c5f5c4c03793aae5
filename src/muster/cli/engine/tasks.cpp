#include <memory>
#include <string>

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

struct TaskFlags {
  WebFlags web;
  std::string session;
  std::string execution;
  std::string state;
  std::size_t limit = 50;
};

/// The executions of all sessions, or of those that were asked for.
ordered_json executions_of(const ordered_json& sessions, const TaskFlags& flags) {
  auto found = ordered_json::array();
  for (const ordered_json& session : sessions) {
    const std::string id = field(session, "session");
    if (!flags.session.empty() && flags.session != id) continue;
    for (const ordered_json& execution : session.value("executions", ordered_json::array())) {
      const std::string name = field(execution, "execution");
      if (!flags.execution.empty() && flags.execution != name) continue;
      ordered_json one = execution;
      one["session"] = id;
      found.push_back(std::move(one));
    }
  }
  return found;
}

Result<ordered_json> tasks_of(const TaskFlags& flags) {
  const auto sessions = ask_web(flags.web, "/api/sessions");
  if (!sessions) return sessions;
  auto executions = executions_of(
      sessions->is_array() ? *sessions : sessions->value("sessions", ordered_json::array()), flags);
  for (ordered_json& execution : executions) {
    const std::string path =
        fmt::format("/api/sessions/{}/executions/{}/tasks?limit={}{}", field(execution, "session"),
                    field(execution, "execution"), flags.limit,
                    flags.state.empty() ? "" : "&state=" + flags.state);
    auto tasks = ask_web(flags.web, path);
    if (!tasks) return tasks;
    execution["tasks"] = tasks->value("tasks", ordered_json::array());
    execution["operators"] = tasks->value("operators", ordered_json::array());
  }
  return executions;
}

Table table_of_tasks(const ordered_json& executions) {
  Table table{"SESSION", "EXECUTION", "TASK", "OPERATOR", "STATE", "WORKER", "ATTEMPT", "SECONDS"};
  for (const ordered_json& execution : executions) {
    for (const ordered_json& task : execution["tasks"]) {
      table.add({field(execution, "session"), field(execution, "execution"), field(task, "task"),
                 field(task, "operator"), field(task, "state"), field(task, "worker"),
                 field(task, "attempt"), field(task, "seconds")});
    }
  }
  return table;
}

}  // namespace

Action set_up_engine_tasks(CLI::App& parser, Io io) {
  auto flags = std::make_shared<TaskFlags>();
  add_web_flags(parser, flags->web);
  parser.add_option("--session", flags->session, "Only of this session")->type_name("N");
  parser.add_option("--execution", flags->execution, "Only of this execution")->type_name("NAME");
  parser.add_option("--state", flags->state, "Only in this state")
      ->check(CLI::IsMember({"waiting", "ready", "assigned", "running", "done"}).description(""))
      ->type_name("waiting|ready|assigned|running|done");
  parser.add_option("--limit", flags->limit, "At most so many of each execution")
      ->type_name("N")
      ->capture_default_str();
  return [flags, output = Output(parser, io), io] {
    const auto executions = tasks_of(*flags);
    if (!executions) return report(io, executions.error());
    output.print(*executions, table_of_tasks(*executions));
    return kDone;
  };
}

}  // namespace muster::cli
