#pragma once

#include <span>

#include "muster/cli/command.h"

namespace muster::cli {

/// Every command of the `muster` program, in the order that `--help` shows.
std::span<const Command> commands();

}  // namespace muster::cli
