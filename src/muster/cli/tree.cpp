#include "muster/cli/tree.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "muster/base/assert.h"
#include "muster/base/suggest.h"
#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/walk.h"
#include "muster/version.h"

namespace muster::cli {
namespace {

/// The command of this name in a group; null if there is none.
template <class App>
App* child(App& group, std::string_view name) {
  for (App* each : group.get_subcommands([](App*) { return true; })) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

bool is_group(const CLI::App& parser) { return parser.get_require_subcommand_min() > 0; }

/// "muster process job"
std::string words(const CLI::App& parser) {
  const CLI::App* parent = parser.get_parent();
  return parent == nullptr ? parser.get_name() : words(*parent) + ' ' + parser.get_name();
}

std::string help(const CLI::App& parser) {
  const CLI::App* parent = parser.get_parent();
  return parser.help(parent == nullptr ? "" : words(*parent));
}

/// The parser whose command the first words name, and how many words those are.
std::pair<const CLI::App*, std::size_t> called(const CLI::App& root,
                                               const std::vector<std::string>& arguments) {
  const CLI::App* parser = &root;
  std::size_t depth = 0;
  while (depth < arguments.size()) {
    const CLI::App* next = child(*parser, arguments[depth]);
    if (next == nullptr) break;
    parser = next;
    ++depth;
  }
  return {parser, depth};
}

std::vector<std::string> names_in(const CLI::App& group) {
  std::vector<std::string> names;
  for (const CLI::App* each : group.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) names.push_back(each->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

int report_unknown_command(const CLI::App& group, std::string_view name, const Io& io) {
  io.err << fmt::format("{}: unknown command '{}'{}\nRun '{} --help' for the list of commands.\n",
                        words(group), name, did_you_mean(name, names_in(group)), words(group));
  return kUsageError;
}

int report_usage(const CLI::App& parser, std::string_view message, const Io& io) {
  io.err << fmt::format("{}: {}\nRun '{} --help' for what it takes.\n", words(parser), message,
                        words(parser));
  return kUsageError;
}

std::string unknown_option(const CLI::App& parser, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  return fmt::format("unknown option '{}'{}", name, did_you_mean(name, options_of(parser)));
}

std::string unexpected(const CLI::App& root, const CLI::App& parser) {
  const std::vector<std::string> extras = root.remaining(true);
  if (extras.empty()) return "too many arguments";
  const std::string& first = extras.front();
  if (!first.starts_with('-')) return fmt::format("unexpected argument '{}'", first);
  return unknown_option(parser, first);
}

bool is_long(const std::string& word) { return word.starts_with("--"); }

/// The option that a word such as "-n4" or "--ranks=4" gives; null if there is none.
const CLI::Option* option_of(const CLI::App& parser, const std::string& word) {
  return parser.get_option_no_throw(word.substr(0, is_long(word) ? word.find('=') : 2));
}

/// Whether the next word is the value of this one.
bool takes_next(const CLI::Option& option, const std::string& word) {
  const bool has_value = is_long(word) ? word.find('=') != std::string::npos : word.size() > 2;
  return option.get_items_expected_max() > 0 && !has_value;
}

/// A command that takes the rest of the line as it is (`prefix_command`) ends its options at "--"
/// or at the first word that is none. CLI11 would read options behind "--", too, so a mark takes
/// its place. Throws for what looks like an option before it and is none.
void mark_rest(const CLI::App& parser, std::vector<std::string>& arguments, std::size_t depth) {
  if (!parser.get_prefix_command()) return;
  std::size_t i = depth;
  while (i < arguments.size() && arguments[i].starts_with('-') && arguments[i] != "--") {
    const CLI::Option* const option = option_of(parser, arguments[i]);
    if (option == nullptr) throw UsageError(unknown_option(parser, arguments[i]));
    i += takes_next(*option, arguments[i]) ? 2 : 1;
  }
  if (i >= arguments.size()) return;
  const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
  if (*at == "--")
    *at = kMarkOfRest;
  else
    arguments.insert(at, std::string(kMarkOfRest));
}

/// CLI11's own, with the rest of the line where a command takes it.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* parser, std::string name) const override {
    std::string text = Formatter::make_usage(parser, std::move(name));
    return text.insert(text.find_last_not_of('\n') + 1, rest_of(*parser));
  }
};

constexpr std::string_view kExamples =
    "muster run -n 4 -- python train.py        # one program, four ranks\n"
    "muster process create                     # then jobs run on this machine:\n"
    "muster process job start train.yml --wait\n"
    "muster doctor                             # when something does not work\n"
    "muster process job start --help           # every command has examples";

std::string footer(std::string_view examples) {
  std::string text;
  while (!examples.empty()) {
    const std::size_t end = std::min(examples.find('\n'), examples.size());
    text += fmt::format("  {}\n", examples.substr(0, end));
    examples.remove_prefix(std::min(end + 1, examples.size()));
  }
  return text.empty() ? text : "Examples:\n" + text;
}

}  // namespace

CommandTree::CommandTree(std::span<const Command> commands, const Io& io)
    : io_(io),
      root_(std::make_unique<CLI::App>("Distributed programs from components that pass messages.",
                                       "muster")) {
  root_->formatter(std::make_shared<HelpFormatter>());
  root_->set_version_flag("--version", std::string(kVersion));
  root_->require_subcommand(1);
  root_->footer(footer(kExamples));
  for (const Command& command : commands) add(command);
}

CommandTree::~CommandTree() = default;

void CommandTree::add(const Command& command) {
  CLI::App* parent = root_.get();
  std::string_view rest = command.path;
  for (std::size_t space = rest.find(' '); space != std::string_view::npos;
       space = rest.find(' ')) {
    parent = child(*parent, rest.substr(0, space));
    MUSTER_ASSERT(parent != nullptr, "a group's row stands before the rows in it");
    rest.remove_prefix(space + 1);
  }
  CLI::App* parser = parent->add_subcommand(std::string(rest), std::string(command.summary));
  parser->footer(footer(command.examples));
  if (command.hidden) parser->group("");
  if (command.set_up == nullptr) {
    parser->require_subcommand(1);
  } else {
    leaves_.push_back({parser, command.set_up(*parser, io_)});
  }
}

int CommandTree::run(std::vector<std::string> arguments) {
  const auto [parser, depth] = called(*root_, arguments);
  const bool ends = depth == arguments.size();
  if (is_group(*parser) && ends) {
    io_.err << help(*parser);
    return kUsageError;
  }
  if (is_group(*parser) && !arguments[depth].starts_with('-')) {
    return report_unknown_command(*parser, arguments[depth], io_);
  }
  try {
    mark_rest(*parser, arguments, depth);
    std::ranges::reverse(arguments);  // as CLI11 wants them
    root_->parse(std::move(arguments));
    return act();
  } catch (const CLI::CallForHelp&) {
    io_.out << help(*parser);
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    io_.out << version.what() << '\n';
    return kDone;
  } catch (const CLI::ExtrasError&) {
    return report_usage(*parser, unexpected(*root_, *parser), io_);
  } catch (const CLI::ParseError& error) {
    return report_usage(*parser, error.what(), io_);
  } catch (const UsageError& error) {
    return report_usage(*parser, error.what(), io_);
  }
}

int CommandTree::act() {
  for (const Leaf& leaf : leaves_) {
    if (leaf.parser->parsed()) return leaf.action();
  }
  return kUsageError;
}

}  // namespace muster::cli
