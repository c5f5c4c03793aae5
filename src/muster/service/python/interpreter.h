#pragma once

#include <span>
#include <string>
#include <vector>

#include "muster/base/result.h"

namespace muster::service {

/// The path of the interpreter that runs functions: `wanted` (a path, or a name that a shell would
/// find), else $MUSTER_PYTHON, else python3.
[[nodiscard]] Result<std::string> find_interpreter(const std::string& wanted);

/// Ours without what only the worker may know (secrets, tokens, where the group meets), and with
/// one thread for each library that would otherwise take all cores in every process.
[[nodiscard]] std::vector<std::string> function_environment(std::span<const std::string> ours);
[[nodiscard]] std::vector<std::string> function_environment();

}  // namespace muster::service
