#include "muster/cli/completion.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/walk.h"

namespace muster::cli {
namespace {

constexpr std::string_view kBash =
    R"sh(# bash completion for muster; in ~/.bashrc: source <(muster completion bash)
_muster() {
  local IFS=$'\n' line
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  for line in $("${COMP_WORDS[0]}" complete "${words[@]/#/=}" 2>/dev/null); do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done
}
complete -F _muster muster
)sh";

constexpr std::string_view kZsh = R"sh(#compdef muster
# zsh completion for muster; in ~/.zshrc, after compinit: source <(muster completion zsh)
_muster() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" complete "${(@)words[2,CURRENT]/#/=}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ -n $line ]]; then
      found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( ${#found} )) && _describe muster found
}
compdef _muster muster
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion for muster: muster completion fish > ~/.config/fish/completions/muster.fish
function __muster_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] complete =$words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c muster -f -a "(__muster_complete)"
)sh";

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::Option* option_named(const CLI::App& parser, const std::string& word) {
  if (!word.starts_with('-') || word.find('=') != std::string::npos) return nullptr;
  return parser.get_option_no_throw(word);
}

/// What the words before the last one lead to.
struct Position {
  const CLI::App* parser;
  const CLI::Option* value_of = nullptr;  // the last word is the value of this option
  std::size_t arguments = 0;              // already given
};

Position find_position(const CLI::App& root, const std::vector<std::string>& words) {
  Position position{&root};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (const CLI::Option* option = option_named(*position.parser, words[i])) {
      if (!takes_value(*option)) continue;
      if (i + 2 == words.size()) position.value_of = option;
      ++i;
    } else if (!words[i].starts_with('-')) {
      const auto inside = commands_in(*position.parser);
      const auto found = std::ranges::find(inside, words[i], &CLI::App::get_name);
      if (found != inside.end()) {
        position = {*found};
      } else {
        ++position.arguments;
      }
    }
  }
  return position;
}

bool is_path(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_name(true) : option.get_type_name();
  return name.find("FILE") != std::string::npos || name.find("DIR") != std::string::npos ||
         name == "SETTINGS";
}

void add_values(const CLI::Option& option, Completions& to) {
  for (const std::string& choice : choices_of(option)) to.candidates.push_back({choice, ""});
  to.files = to.files || is_path(option);
}

void add_options(const CLI::App& parser, Completions& to) {
  for (const CLI::Option* option : options_of(parser)) {
    for (const std::string& name : option->get_lnames()) {
      to.candidates.push_back({fmt::format("--{}", name), option->get_description()});
    }
  }
}

/// What `list` in the same group knows: an array of objects with a "name".
void add_names(const CLI::App& command, const Runner& runner, Completions& to) {
  const auto siblings = commands_in(*command.get_parent());
  const auto list = std::ranges::find(siblings, "list", &CLI::App::get_name);
  if (list == siblings.end()) return;
  std::vector<std::string> words = CLI::detail::split(words_of(**list), ' ');
  words.erase(words.begin());  // muster
  words.insert(words.end(), {"-o", "json"});
  const auto known = nlohmann::json::parse(runner(words), nullptr, /*allow_exceptions=*/false);
  if (!known.is_array()) return;
  for (const auto& each : known) {
    if (each.is_object() && each.contains("name") && each["name"].is_string()) {
      to.candidates.push_back({each["name"].get<std::string>(), ""});
    }
  }
}

void add_arguments(const CLI::App& parser, std::size_t given, const Runner& runner,
                   Completions& to) {
  const auto arguments = arguments_of(parser);
  if (arguments.empty()) return;
  const CLI::Option* next = arguments[std::min(given, arguments.size() - 1)];
  const bool repeats = next->get_items_expected_max() > 1;
  if (given >= arguments.size() && !repeats) return;
  add_values(*next, to);
  if (runner && next->get_name(true) == "NAME") add_names(parser, runner, to);
}

/// Errors are of no use here: nothing is offered then.
std::string output_of(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"muster"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream err;
  run(static_cast<int>(argv.size()), argv.data(), {out, err});
  return out.str();
}

}  // namespace

Completions complete(const CLI::App& root, const std::vector<std::string>& words,
                     const Runner& runner) {
  Completions result;
  if (words.empty()) return result;
  const Position position = find_position(root, words);
  const std::string& last = words.back();
  if (position.value_of != nullptr) {
    add_values(*position.value_of, result);
  } else if (last.starts_with('-')) {
    add_options(*position.parser, result);
  } else {
    for (const CLI::App* command : commands_in(*position.parser)) {
      result.candidates.push_back({command->get_name(), command->get_description()});
    }
    add_arguments(*position.parser, position.arguments, runner, result);
  }
  std::erase_if(result.candidates,
                [&](const auto& candidate) { return !candidate.word.starts_with(last); });
  return result;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  return shell == "fish" ? kFish : "";
}

Action set_up_completion(CLI::App& parser, Io io) {
  auto shell = std::make_shared<std::string>();
  parser.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("bash|zsh|fish");
  return [shell, io] {
    io.out << completion_script(*shell);
    return kDone;
  };
}

Action set_up_complete(CLI::App& parser, Io io) {
  auto words = std::make_shared<std::vector<std::string>>();
  parser.add_option("WORD", *words, "The words after 'muster', each with '=' before it");
  return [&parser, words, io] {
    for (std::string& word : *words) word.erase(0, word.starts_with('=') ? 1 : 0);
    const Completions found = complete(root_of(parser), *words, output_of);
    for (const auto& [word, summary] : found.candidates) io.out << word << '\t' << summary << '\n';
    if (found.files) io.out << ":files\n";
    return kDone;
  };
}

}  // namespace muster::cli
