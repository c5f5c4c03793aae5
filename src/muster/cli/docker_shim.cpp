#include "muster/cli/docker_shim.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "muster/cluster/launch/docker/docker_shim.h"

namespace muster::cli {

Action set_up_docker_shim(CLI::App& parser, Io) {
  auto folder = std::make_shared<std::string>();
  parser.add_option("FOLDER", *folder, "Of the attempt")->required()->type_name("");
  return [folder] { return cluster::run_docker_shim(*folder); };
}

}  // namespace muster::cli
