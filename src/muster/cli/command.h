#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace CLI {
class App;
}

namespace muster::cli {

/// Where a command writes: results to `out`, complaints to `err`. Both outlive the command.
struct Io {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;              ///< somebody looks at `out` on a terminal
  std::size_t (*rows)() = nullptr;  ///< how many lines that terminal has now; 0 if it does not say
  int out_fd = -1;                  ///< what `out` writes to, for who must not wait for its reader
  int err_fd = -1;                  ///< the same of `err`
};

/// What a command does once its options are parsed; returns the exit status. May throw UsageError.
using Action = std::function<int()>;

/// One row of the command list in commands.cpp.
struct Command {
  /// The words that call it: "version", "process job start". A row for each group ("process",
  /// "process job") stands before the rows in it.
  std::string_view path;
  std::string_view summary;
  /// For --help and the reference: command lines, each with a comment after '#' or none.
  std::string_view examples;
  /// Declares the options on `parser` and returns the action that reads them. Null for a group.
  Action (*set_up)(CLI::App& parser, Io io);
  bool hidden = false;  ///< not in --help, the reference or completions
};

}  // namespace muster::cli
