#include <ostream>

#include <CLI/CLI.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cli/process/commands.h"
#include "muster/cluster/node/process_mode.h"

namespace muster::cli {

Action set_up_process_delete(CLI::App&, Io io) {
  return [io] {
    const auto layout = cluster::ClusterLayout::of_user();
    if (!layout) return report(io, layout.error());
    if (const auto deleted = cluster::delete_process_mode(*layout); !deleted)
      return report(io, deleted.error());
    io.out << "Process mode is gone, with all its jobs.\n";
    return kDone;
  };
}

}  // namespace muster::cli
