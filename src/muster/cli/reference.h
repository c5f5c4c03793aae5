#pragma once

#include <string>

#include "muster/cli/command.h"

namespace muster::cli {

/// All commands as Markdown, for docs/reference/cli.md.
std::string cli_reference(const CLI::App& root);

/// `muster reference cli|collectives|job|schema`, which writes the pages of docs/reference.
Action set_up_reference(CLI::App& parser, Io io);

}  // namespace muster::cli
