#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/cli/command.h"

namespace muster::cli {

/// The commands as a tree of CLI11 parsers. The parsers and what the actions read live as long as
/// the tree.
class CommandTree {
 public:
  CommandTree(std::span<const Command> commands, const Io& io);
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  /// Parses and runs; returns the exit status.
  int run(std::vector<std::string> arguments);

  [[nodiscard]] const CLI::App& root() const { return *root_; }

 private:
  struct Leaf {
    const CLI::App* parser;  // owned by root_
    Action action;
  };

  void add(const Command& command);
  /// Runs the action of the command that was called.
  int act();

  Io io_;
  std::unique_ptr<CLI::App> root_;
  std::vector<Leaf> leaves_;
};

}  // namespace muster::cli
