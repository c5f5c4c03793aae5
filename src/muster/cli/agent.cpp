#include "muster/cli/agent.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "muster/cli/cli.h"
#include "muster/cli/failure.h"
#include "muster/cluster/launch/process/shim_program.h"
#include "muster/cluster/node/agent.h"
#include "muster/cluster/node/daemon.h"

namespace muster::cli {

Action set_up_agent(CLI::App& parser, Io io) {
  auto root = std::make_shared<std::string>();
  auto supervise = std::make_shared<bool>(false);
  auto beside = std::make_shared<bool>(false);
  auto supervisor = std::make_shared<pid_t>(0);
  parser.add_option("--root", *root, "The folder of process mode")->required()->type_name("DIR");
  parser.add_flag("--supervise", *supervise, "Keep an agent running");
  parser.add_flag("--beside", *beside, "Begin with the agent that runs already");
  parser.add_option("--supervisor", *supervisor, "Who keeps this agent running")->type_name("PID");
  return [root, supervise, beside, supervisor, io] {
    const cluster::ClusterLayout layout{.root = *root};
    if (*supervise) {
      return cluster::supervise_agent(cluster::muster_program(), layout,
                                      *beside ? cluster::Beside::yes : cluster::Beside::no);
    }
    const auto end = cluster::run_agent(layout, *supervisor);
    return end ? kDone : report(io, end.error());
  };
}

}  // namespace muster::cli
