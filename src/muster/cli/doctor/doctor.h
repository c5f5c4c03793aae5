#pragma once

#include "muster/cli/command.h"

namespace muster::cli {

/// `muster doctor`
Action set_up_doctor(CLI::App& parser, Io io);

}  // namespace muster::cli
