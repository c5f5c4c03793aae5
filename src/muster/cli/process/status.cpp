#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/output.h"
#include "muster/cli/process/commands.h"
#include "muster/cli/process/mode.h"

namespace muster::cli {
namespace {

using cluster::JobPhase;

constexpr JobPhase kPhases[] = {JobPhase::pending, JobPhase::running, JobPhase::succeeded,
                                JobPhase::failed, JobPhase::stopped};

nlohmann::ordered_json document(const cluster::ProcessMode& mode,
                                const cluster::ProcessStatus& status) {
  nlohmann::ordered_json jobs;
  for (const JobPhase phase : kPhases) {
    const auto place = status.jobs.find(phase);
    jobs[std::string(name_of(phase))] = place == status.jobs.end() ? 0 : place->second;
  }
  nlohmann::ordered_json result{{"agent", status.agent ? "running" : "not running"},
                                {"pid", status.agent ? status.agent->pid : 0},
                                {"folder", mode.layout().root},
                                {"redis", status.redis}};
  for (const char* const fact : {"node", "resources", "limits"}) {
    const auto place = status.facts.find(fact);
    result[fact] = place == status.facts.end() ? "" : place->second;
  }
  // Only the agent starts the server that knows.
  result["jobs"] = status.agent ? jobs : nlohmann::ordered_json();
  return result;
}

std::string facts_text(const nlohmann::ordered_json& facts) {
  std::string lines = fmt::format("agent      {}", facts["agent"].get<std::string>());
  if (facts["pid"] != 0) lines += fmt::format(" (pid {})", facts["pid"].get<int>());
  for (const char* const fact : {"folder", "redis", "node", "resources", "limits"}) {
    const std::string value = facts[fact];
    if (!value.empty()) lines += fmt::format("\n{:<10} {}", fact, value);
  }
  if (facts["jobs"].is_null())
    return lines +
           "\njobs       not known while the agent does not run; any other command starts it\n";
  lines += "\njobs      ";
  for (const auto& [phase, count] : facts["jobs"].items())
    lines += fmt::format(" {} {}", count.get<std::size_t>(), phase);
  return lines + "\n";
}

}  // namespace

Action set_up_process_status(CLI::App& parser, Io io) {
  return [output = Output(parser, io), io] {
    return with_process_mode(io, [&](cluster::ProcessMode& mode) {
      const auto status = mode.status();
      if (!status) return report(io, status.error());
      const auto facts = document(mode, *status);
      output.print(facts, facts_text(facts));
      return kDone;
    });
  };
}

}  // namespace muster::cli
