#pragma once

#include <string>
#include <vector>

#include "muster/cli/command.h"

namespace muster::cli {

struct VersionInfo {
  std::string version;
  std::string compiler;
  std::vector<std::string> drivers;
};

/// What this build is made of.
VersionInfo version_info();

Action set_up_version(CLI::App& parser, Io io);

}  // namespace muster::cli
