#pragma once

#include <iosfwd>

namespace muster::cli {

/// Exit status when the command line itself is wrong.
inline constexpr int kUsageError = 2;

/// Runs the `muster` program: parses the command line, runs the command, writes to `out` and `err`,
/// and returns the exit status. Touches no other global state, so tests may call it.
int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace muster::cli
