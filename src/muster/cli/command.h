#pragma once

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
};

/// What a command does once its options are parsed; returns the exit status.
using Action = std::function<int()>;

/// One row of the command list in commands.cpp.
struct Command {
  std::string_view name;
  std::string_view summary;
  /// Declares the options on `parser` and returns the action that reads them.
  Action (*set_up)(CLI::App& parser, Io io);
};

}  // namespace muster::cli
