#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"

namespace muster::cluster {

/// Splits a command line into words as a shell does: blanks separate, quotes and backslashes keep
/// together. Nothing is expanded, so what a shell would expand or obey (`$`, backquotes, `~`, `|`,
/// `&`, `;`, `<`, `>`, `(`, `)`, a variable before the program) fails with Errc::invalid_spec and
/// says how to write it. Patterns (`*`, `?`, `[`) are taken as they are.
Result<std::vector<std::string>> split_command(std::string_view line);

}  // namespace muster::cluster
