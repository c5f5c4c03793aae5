#include "muster/cli/cli.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/base/suggest.h"
#include "muster/cli/commands.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

// CLI11 reports an unknown command as an unexpected argument, so it is looked for before parsing.
std::optional<std::string_view> unknown_command(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]).starts_with('-')) return std::nullopt;
  const std::string_view name = argv[1];
  const auto known = [&](const Command& command) { return command.name == name; };
  if (std::ranges::any_of(commands(), known)) return std::nullopt;
  return name;
}

int report_unknown(std::string_view name, std::ostream& err) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  err << fmt::format("muster: unknown command '{}'", name);
  const std::string meant = nearest(name, names);
  if (!meant.empty()) err << fmt::format("; did you mean '{}'?", meant);
  err << "\nRun 'muster --help' for the list of commands.\n";
  return kUsageError;
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  if (const auto name = unknown_command(argc, argv)) return report_unknown(*name, err);

  CLI::App app{"Distributed programs from components that pass messages.", "muster"};
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);

  Io io{out, err};
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : commands()) {
    CLI::App* parser = app.add_subcommand(std::string(command.name), std::string(command.summary));
    actions.emplace_back(parser, command.set_up(*parser, io));
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : kUsageError;
  }
  for (const auto& [parser, action] : actions) {
    if (parser->parsed()) return action();
  }
  return kUsageError;
}

}  // namespace muster::cli
