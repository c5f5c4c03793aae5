#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "muster/cli/cli.h"

namespace muster::cli {

/// What a command did, for tests.
struct Outcome {
  int status;
  std::string out;
  std::string err;
};

/// Runs `muster`, or under another name, with these arguments.
inline Outcome run_with(const std::vector<std::string>& arguments, bool colour = false,
                        const char* program = "muster") {
  std::vector<const char*> argv = {program};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(static_cast<int>(argv.size()), argv.data(), {out, err, colour});
  return {status, out.str(), err.str()};
}

}  // namespace muster::cli
