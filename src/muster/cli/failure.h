#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "muster/base/result.h"
#include "muster/cli/command.h"

namespace muster::cli {

/// The command line is wrong in a way that only the action sees, such as two options that exclude
/// each other. Ends the command with kUsageError.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Says what failed and returns kFailed: `return report(io, result.error());`
int report(const Io& io, const Error& error);
int report(const Io& io, std::string_view message);

/// "there is no job 'trian'; did you mean 'train'?"
std::string no_such(std::string_view kind, std::string_view name,
                    const std::vector<std::string>& known);

}  // namespace muster::cli
