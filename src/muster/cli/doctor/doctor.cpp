#include "muster/cli/doctor/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/doctor/programs.h"
#include "muster/cli/doctor/system.h"
#include "muster/cli/output.h"
#include "muster/comm/discovery/file/root.h"

namespace muster::cli {
namespace {

/// Where process mode keeps jobs, logs and the password of its Redis.
std::filesystem::path state_folder() {
  const char* set = std::getenv("MUSTER_HOME");
  if (set != nullptr && *set != '\0') return set;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "/") / ".muster";
}

std::vector<Check> all_checks() {
  const char* set = std::getenv("PATH");
  const std::string_view path = set != nullptr ? set : "/usr/local/bin:/usr/bin:/bin";
  return {check_redis_server(path),
          check_docker(docker_socket()),
          check_python_package(path),
          check_ucx(),
          check_cgroups(),
          check_shared_memory("/dev/shm"),
          check_private("runtime folder", comm::file::default_root()),
          check_private("state folder", state_folder()),
          check_open_files(),
          check_disk(std::filesystem::temp_directory_path())};
}

const char* text(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "ok";
    case Verdict::warning: return "warning";
    case Verdict::bad: return "failed";
  }
  return "";
}

Style style(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return Style::good;
    case Verdict::warning: return Style::warning;
    case Verdict::bad: return Style::bad;
  }
  return Style::plain;
}

nlohmann::ordered_json document(const std::vector<Check>& checks) {
  auto result = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    result.push_back({{"check", check.name},
                      {"verdict", text(check.verdict)},
                      {"finding", check.finding},
                      {"remedy", check.remedy}});
  }
  return result;
}

/// The table, and below it how to mend things: remedies are too long for a column.
std::string for_people(const std::vector<Check>& checks, bool colour) {
  Table table{"CHECK", "VERDICT", "FINDING"};
  std::string remedies;
  for (const Check& check : checks) {
    table.add({check.name, Cell(text(check.verdict), style(check.verdict)), check.finding});
    if (!check.remedy.empty()) remedies += fmt::format("  {}: {}\n", check.name, check.remedy);
  }
  return table.text(colour) + (remedies.empty() ? "" : "\nHow to mend it:\n" + remedies);
}

}  // namespace

Action set_up_doctor(CLI::App& parser, Io io) {
  return [output = Output(parser, io)] {
    const std::vector<Check> checks = all_checks();
    output.print(document(checks), for_people(checks, output.io().colour));
    const bool failed = std::ranges::any_of(
        checks, [](const Check& check) { return check.verdict == Verdict::bad; });
    return failed ? kFailed : kDone;
  };
}

}  // namespace muster::cli
