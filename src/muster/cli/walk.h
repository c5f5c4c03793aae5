#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace muster::cli {

// Looking at the tree of commands: for completion, the reference and messages.

/// The `muster` that a command belongs to.
const CLI::App& root_of(const CLI::App& command);

/// "muster process job"
std::string words_of(const CLI::App& command);

/// The commands in a group that people should see, in the order of the command list.
std::vector<const CLI::App*> commands_in(const CLI::App& group);

/// The options with a name, and the arguments without one.
std::vector<const CLI::Option*> options_of(const CLI::App& command);
std::vector<const CLI::Option*> arguments_of(const CLI::App& command);

/// What a command that runs a program takes after its options; empty for others.
std::string rest_of(const CLI::App& command);

/// Stands before the rest of a command line that `CommandTree` hands to such a command.
inline constexpr std::string_view kMarkOfRest = "(the program)";
/// That rest, without the mark.
std::vector<std::string> given_rest(const CLI::App& command);

/// "table|json|yaml" stands for these values; empty for other types.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace muster::cli
