#include "muster/cli/walk.h"

#include <CLI/CLI.hpp>

namespace muster::cli {
namespace {

std::vector<const CLI::Option*> shown(const CLI::App& command, bool positional) {
  return command.get_options([&](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

}  // namespace

const CLI::App& root_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command : root_of(*parent);
}

std::string words_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : words_of(*parent) + ' ' + command.get_name();
}

std::vector<const CLI::App*> commands_in(const CLI::App& group) {
  return group.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return shown(command, false);
}

std::vector<const CLI::Option*> arguments_of(const CLI::App& command) {
  return shown(command, true);
}

std::string rest_of(const CLI::App& command) {
  return command.get_prefix_command() ? " -- PROGRAM [ARGUMENT...]" : "";
}

std::vector<std::string> given_rest(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  if (!words.empty()) words.erase(words.begin());
  return words;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  return CLI::detail::split(type, '|');
}

}  // namespace muster::cli
