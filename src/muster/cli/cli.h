#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// Exit status: the command did what it was asked for.
inline constexpr int kDone = 0;
/// The command could not do it.
inline constexpr int kFailed = 1;
/// The command line itself is wrong; nothing was done.
inline constexpr int kUsageError = 2;

/// Runs the `muster` program: parses the command line, runs the command, writes to `io`, and
/// returns the exit status. Touches no other global state, so tests may call it.
int run(int argc, const char* const* argv, const Io& io);

}  // namespace muster::cli
