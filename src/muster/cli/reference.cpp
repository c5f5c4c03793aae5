#include "muster/cli/reference.h"

#include <memory>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/cli/cli.h"
#include "muster/cli/collectives.h"
#include "muster/cli/walk.h"
#include "muster/cluster/job/schema.h"

namespace muster::cli {
namespace {

/// "[FILE]", "FILE..."
std::string argument_text(const CLI::Option& argument) {
  const std::string dots = argument.get_items_expected_max() > 1 ? "..." : "";
  const std::string name = argument.get_name(true) + dots;
  return argument.get_required() ? name : fmt::format("[{}]", name);
}

std::string usage(const CLI::App& command) {
  std::string text = words_of(command);
  if (!options_of(command).empty()) text += " [OPTIONS]";
  for (const CLI::Option* argument : arguments_of(command)) text += ' ' + argument_text(*argument);
  if (!commands_in(command).empty()) text += " COMMAND";
  return text + rest_of(command);
}

/// Vertical bars would end a cell.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

std::string option_row(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += fmt::format("`-{}`, ", name);
  for (const std::string& name : option.get_lnames()) names += fmt::format("`--{}`, ", name);
  names.resize(names.size() - 2);
  if (option.get_items_expected_max() > 0) {
    names += fmt::format(" {}", cell(option.get_type_name()));
  }
  const std::string fallback = option.get_default_str();
  return fmt::format("| {} | {}{} |\n", names, cell(option.get_description()),
                     fallback.empty() ? "" : fmt::format(" (`{}`)", fallback));
}

std::string tables(const CLI::App& command) {
  std::string text;
  const auto arguments = arguments_of(command);
  const auto options = options_of(command);
  if (!arguments.empty()) {
    text += "\n| argument | meaning |\n| --- | --- |\n";
    for (const CLI::Option* argument : arguments) {
      text += fmt::format("| `{}` | {} |\n", argument->get_name(true),
                          cell(argument->get_description()));
    }
  }
  std::string rows;
  for (const CLI::Option* option : options) {
    if (!option->check_lname("help")) rows += option_row(*option);
  }
  if (!rows.empty()) text += "\n| option | meaning |\n| --- | --- |\n" + rows;
  return text;
}

/// The footer holds "Examples:" and indented lines.
std::string examples(const CLI::App& command) {
  std::string text = command.get_footer();
  constexpr std::string_view kHeading = "Examples:\n";
  if (!text.starts_with(kHeading)) return "";
  std::string lines;
  for (const std::string& line : CLI::detail::split(text.substr(kHeading.size()), '\n')) {
    if (!line.empty()) lines += line.substr(2) + '\n';
  }
  return fmt::format("\n```bash\n{}```\n", lines);
}

void describe(const CLI::App& command, std::string& text) {
  const auto inside = commands_in(command);
  if (command.get_parent() != nullptr) {
    text += fmt::format("\n## {}\n{}.\n\n    {}\n", words_of(command), command.get_description(),
                        usage(command));
    text += tables(command) + examples(command);
  }
  for (const CLI::App* each : inside) describe(*each, text);
}

}  // namespace

std::string cli_reference(const CLI::App& root) {
  std::string text =
      "# The muster command\n\n"
      "Every command, as its `--help` says it; `muster reference cli` writes this page.\n\n"
      "A command ends with status 0 when it is done, 1 when it failed, and 2 when the command line "
      "is wrong and nothing was\ndone; where a command passes the status of a program on, it says "
      "so. `-o json` and `-o yaml` are for programs. Colours\nare used on a terminal only, and not "
      "if `NO_COLOR` is set.\n\n| command | what it does |\n| --- | --- |\n";
  const auto list = [&](const auto& self, const CLI::App& command) -> void {
    for (const CLI::App* each : commands_in(command)) {
      std::string anchor = words_of(*each);
      std::ranges::replace(anchor, ' ', '-');
      text +=
          fmt::format("| [`{}`](#{}) | {} |\n", words_of(*each), anchor, each->get_description());
      self(self, *each);
    }
  };
  list(list, root);
  describe(root, text);
  return text;
}

Action set_up_reference(CLI::App& parser, Io io) {
  auto page = std::make_shared<std::string>();
  parser.add_option("PAGE", *page, "cli, collectives, job or schema")
      ->required()
      ->check(CLI::IsMember({"cli", "collectives", "job", "schema"}).description(""))
      ->type_name("cli|collectives|job|schema");
  return [&parser, page, io] {
    if (*page == "cli") {
      io.out << cli_reference(root_of(parser));
    } else if (*page == "collectives") {
      io.out << collectives_markdown(comm::collective::ChoiceTable::builtin());
    } else {
      io.out << (*page == "job" ? cluster::job_reference() : cluster::job_schema());
    }
    return kDone;
  };
}

}  // namespace muster::cli
