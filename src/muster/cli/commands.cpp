#include "muster/cli/commands.h"

#include "muster/cli/version.h"

namespace muster::cli {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"version", "Print the version, the compiler and the built drivers", set_up_version},
  };
  return kCommands;
}

}  // namespace muster::cli
