#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/cli/command.h"

namespace muster::cli {

/// What may stand at the end of a command line.
struct Completions {
  struct Candidate {
    std::string word;
    std::string summary;
  };
  std::vector<Candidate> candidates;
  bool files = false;  ///< names of files fit too
};

/// Runs a command, such as {"process", "job", "list", "-o", "json"}, and returns what it prints.
using Runner = std::function<std::string(const std::vector<std::string>&)>;

/// `words` follow "muster"; the last is the one to complete, and may be empty. For an argument
/// NAME, the command `list` of the same group is asked for what there is.
Completions complete(const CLI::App& root, const std::vector<std::string>& words,
                     const Runner& runner = {});

/// The script that makes a shell ask `muster complete`; empty for an unknown shell.
std::string_view completion_script(std::string_view shell);

/// `muster completion SHELL`
Action set_up_completion(CLI::App& parser, Io io);
/// `muster complete =WORD…`, which the scripts call. The '=' keeps words from being options here.
Action set_up_complete(CLI::App& parser, Io io);

}  // namespace muster::cli
